// Environment variables.
#pragma once

#include <cstdlib>
#include <string>

namespace farcall {

// The value of a variable; empty if it is not set.
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace farcall
