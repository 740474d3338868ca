// Runs the farcall command.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/child.h"

// Sanitizers replace malloc and catch signals, as the check itself does.
#ifdef FARCALL_HAS_SANITIZER
#define SKIP_WITH_A_SANITIZER() GTEST_SKIP() << "the build has a sanitizer"
#else
#define SKIP_WITH_A_SANITIZER() static_assert(true)
#endif

namespace farcall::tools {

inline std::string checked_library(const std::string& name) {
  return FARCALL_CHECKED_DIR "/" + name + ".so";
}

inline ChildResult run_farcall(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), FARCALL_COMMAND);
  return run_program(arguments, 60, /*with_errors=*/true);
}

}  // namespace farcall::tools
