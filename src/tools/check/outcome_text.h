// What the error of a call says.
#pragma once

#include <string>

#include "tools/check/call.h"

namespace farcall::tools {

// The text of the exception that left the handler or its function, or its type; empty if there was
// none. The headers turn an exception that leaves the function into an INTERNAL error.
std::string leaving_exception(const Outcome& outcome, const std::string& symbol);

// Whether the error has no message of its own.
bool is_silent(const Outcome& outcome, const std::string& symbol);

}  // namespace farcall::tools
