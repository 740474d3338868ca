// Lists the handlers of a library with their descriptions.
#pragma once

#include <optional>
#include <string>

#include <farcall/ffi/stage.h>

#include "tools/json.h"

namespace farcall::tools {

struct InspectOptions {
  std::string filter;                 // part of the names; empty: all
  std::optional<ApiVersion> runtime;  // also report whether this version accepts the handlers
  double timeout = 60;                // seconds, in total
};

// {"library", "machine", "handlers": [{"symbol", "version", "traits", "stage", "signature", …}],
// "skipped": [{"symbol", "why"}]}. All code of the library runs in a child process. `target` is a
// path or the name of a Python module. Raises Failure(kCouldNotRun).
Json inspect(const std::string& target, const InspectOptions& options);

// The inspection as text for the terminal.
std::string inspection_text(const Json& inspection);

}  // namespace farcall::tools
