// The maximum or minimum of a long run of floats.
#pragma once

#include <cstdint>

namespace farcall::native {

// The least size of a run.
inline constexpr int64_t kLeastExtremeRun = 64;

// Writes the extreme value to `result`. Returns false if there are NaNs or if the value is a zero,
// whose sign would depend on the order: `result` then means nothing.
bool find_extreme(const float* x, int64_t size, bool is_max, float* result);
bool find_extreme(const double* x, int64_t size, bool is_max, double* result);

}  // namespace farcall::native
