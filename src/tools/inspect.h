// Lists the handlers of a library with their descriptions.
#pragma once

#include <optional>
#include <string>

#include <farcall/ffi/stage.h>

#include "tools/json.h"

namespace farcall::tools {

struct InspectOptions {
  std::string filter;                 // part of the names; empty: all. A whole name is always asked
  std::optional<ApiVersion> runtime;  // also report whether this version accepts the handlers
  double timeout = 60;                // seconds, in total
};

// Candidates are functions that have a description of farcall/ffi.h; without one, in libraries that
// contain texts of XLA's header, all functions. A candidate has two seconds to answer.
//
// {"library", "machine", "handlers": [{"symbol", "version", "traits", "stage", "signature", …}],
// "skipped": [{"symbol", "why"}]}. All code of the library runs in a child process. `target` is a
// path or the name of a Python module. Raises Failure(kCouldNotRun), and Failure(kTimeLimit) after
// the timeout.
Json inspect(const std::string& target, const InspectOptions& options);

// Raises Failure(kCouldNotRun) if the inspection, whose filter was `symbol`, has no such handler:
// with the reason why it was skipped, or the names of the handlers that there are.
void require_handler(const Json& inspection, const std::string& symbol,
                     const InspectOptions& options);

// The inspection as text for the terminal.
std::string inspection_text(const Json& inspection);

}  // namespace farcall::tools
