// The sum of a run of float32, computed in double. Every instruction set gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace farcall::native {

// Parts of the sum, side by side: the same number for every instruction set, so that all add in the
// same order.
inline constexpr int64_t kSums = 64;
// The parts that sum_of_parts adds, and those of the sum of fewer than kSums elements. Even fewer
// than these are added one after the other.
inline constexpr int64_t kPartsOfSum = 8;

// Adds the sum of each of `count` runs to its accumulator. `size` is at least kPartsOfSum. `zero`
// is +0 or -0: the sum of no elements.
void add_sums(const float* x, int64_t count, int64_t size, double zero, double* accumulators);

// Adds the second half of the parts to the first, until one is left.
template <size_t count>
double sum_of_halves(double* parts) {
  if constexpr (count == 1) {
    return parts[0];
  } else {
    for (size_t i = 0; i < count / 2; ++i) parts[i] += parts[i + count / 2];
    return sum_of_halves<count / 2>(parts);
  }
}

// The sum of no elements, with which parts begin.
double sum_of_none();
// The sum of the first kPartsOfSum parts, to which all others have been added: the second half to
// the first, until these are left.
float sum_of_parts(const double* parts);

}  // namespace farcall::native
