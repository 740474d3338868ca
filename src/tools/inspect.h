// What handlers are in a library, and what each of them says of itself.
#pragma once

#include <optional>
#include <string>

#include <farcall/ffi/stage.h>

#include "tools/json.h"

namespace farcall::tools {

struct InspectOptions {
  std::string filter;                 // part of the names to look at; empty: all
  std::optional<ApiVersion> runtime;  // also tell whether the handlers load there
  double timeout = 60;                // seconds, for all of it
};

// {"library", "machine", "handlers": [{"symbol", "version", "traits", "stage", "signature", …}],
// "skipped": [{"symbol", "why"}]}. Every question to the library is asked in a child process.
// `target` is a path or the name of a Python module. Raises Failure(kCouldNotRun).
Json inspect(const std::string& target, const InspectOptions& options);

// For people.
std::string inspection_text(const Json& inspection);

}  // namespace farcall::tools
