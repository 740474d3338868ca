// Environment variables.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include <farcall/core/export.h>

namespace farcall {

// The value of a variable; empty if it is not set.
inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Whether a variable is on (1, true, t, yes, y, on) or off (0, false, f, no, n, off), in any case
// of the letters; `otherwise` if it is not set or empty. `also` is a further word for on. Raises
// INVALID_ARGUMENT for another value.
FARCALL_API bool environment_switch(const char* name, bool otherwise, std::string_view also = {});
// The same while the library is loaded, when nothing can be raised: `otherwise` for another value,
// whose error check_environment() raises.
FARCALL_API bool environment_switch_at_load(const char* name, bool otherwise,
                                            std::string_view also = {}) noexcept;
// Raises INVALID_ARGUMENT if a variable that was read at load has a wrong value. For engines: call
// it before the first program is compiled.
FARCALL_API void check_environment();

}  // namespace farcall
