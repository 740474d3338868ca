// The process around a call: what must not change its results.
#pragma once

#include <cstdint>
#include <string>

namespace farcall::tools::surroundings {

inline constexpr uint8_t kVariables = 1, kDirectory = 2, kTimeZone = 4, kLocale = 8,
                         kProcessors = 16;
inline constexpr uint8_t kAll = kVariables | kDirectory | kTimeZone | kLocale | kProcessors;

// "the current directory"
std::string name(uint8_t one);
// Changes them for this process. Environment variables change only for what `handler`'s library
// asks for.
void change(uint8_t which, const void* handler);
// The value of an environment variable for code at this address; `value` is the real one or null.
const char* variable(const char* name, const char* value, const void* caller);
// The number of processors that get_nprocs() returns; `count` is the real one.
int num_processors(int count);

}  // namespace farcall::tools::surroundings
