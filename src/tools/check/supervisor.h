// Starts the processes in which a handler is called, and gathers what they find.
#pragma once

#include "tools/check/report.h"

namespace farcall::tools {

// The calling process has one thread.
CheckReport check(const CheckSpec& spec, const CheckOptions& options);

}  // namespace farcall::tools
