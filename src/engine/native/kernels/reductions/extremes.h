// The maximum or minimum of runs of floats, and where it is in rows of numbers.
#pragma once

#include <cstdint>

namespace farcall::native {

// The least size of a run; loops are as fast for fewer elements.
inline constexpr int64_t kLeastExtremeRun = 4;

// Writes the extreme value of each of `count` runs. Stops at a run with NaNs, and returns the
// number of runs before it, or `count`.
int64_t find_extremes(const float* x, int64_t count, int64_t size, bool is_max, float* results);
int64_t find_extremes(const double* x, int64_t count, int64_t size, bool is_max, double* results);

// The same for float16 and bfloat16, given the bits of infinity. NaN for runs with NaNs. +0 is
// above -0.
void find_extremes_of_halves(const uint16_t* x, int64_t count, int64_t size, bool is_max,
                             uint16_t infinity, uint16_t* results);

// The position of the first element that equals the extreme value of a run; -1 if there are NaNs.
int64_t find_extreme_position(const float* x, int64_t size, bool is_max);
int64_t find_extreme_position(const double* x, int64_t size, bool is_max);

// The position of the first extreme value of each of `count` rows of `size` elements, where the
// first NaN counts as the extreme. For short rows: several at a time.
void find_positions_in_rows(const float* x, int64_t count, int64_t size, bool is_max,
                            int64_t* positions);
void find_positions_in_rows(const double* x, int64_t count, int64_t size, bool is_max,
                            int64_t* positions);
void find_positions_in_rows(const int32_t* x, int64_t count, int64_t size, bool is_max,
                            int64_t* positions);

}  // namespace farcall::native
