// The sum of a long run of float32, computed in double. Every instruction set gives the same bits.
#pragma once

#include <cstdint>

namespace farcall::native {

// Parts of the sum, side by side: the same number for every instruction set, so that all add in the
// same order.
inline constexpr int64_t kSums = 64;
// The parts that sum_of_parts adds.
inline constexpr int64_t kPartsOfSum = 8;

// `zero` is +0 or -0: the sum of no elements.
double sum_floats(const float* x, int64_t size, double zero);

// Adds the second half of the parts to the first, until one is left.
inline double sum_halves(double* parts, int64_t count) {
  for (int64_t half = count / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) parts[i] += parts[i + half];
  }
  return parts[0];
}

// The sum of no elements, with which parts begin.
double sum_of_none();
// The sum of the first kPartsOfSum parts, to which all others have been added: the second half to
// the first, until these are left.
float sum_of_parts(const double* parts);

}  // namespace farcall::native
