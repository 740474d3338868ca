// How a subcommand of farcall ends if it fails.
#pragma once

#include <stdexcept>
#include <string>

namespace farcall::tools {

enum ExitCode : int {
  kFine = 0,
  kFindings = 1,
  kUsage = 2,
  kCouldNotRun = 3,
  kTimeLimit = 124,
};

// Ends the command with this exit code. The text is one or two sentences for the user.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace farcall::tools
