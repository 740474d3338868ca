// The options by which check and bench describe calls of handlers.
#pragma once

#include <string>
#include <vector>

#include "tools/check/spec.h"

namespace CLI {
class App;
}

namespace farcall::command {

struct CallOptions {
  std::vector<std::string> targets;
  std::vector<std::string> arguments, results, attributes, aliases, layouts, stages, sizes, ranges;
  std::string reference, filter;
};

void add_call_options(CLI::App& command, CallOptions& options);

// The calls that a target stands for: of one handler, of every handler that a library describes, or
// as a file lists them. Raises Failure.
std::vector<tools::CheckSpec> specs_of(const CallOptions& options, const std::string& target,
                                       double timeout);

}  // namespace farcall::command
