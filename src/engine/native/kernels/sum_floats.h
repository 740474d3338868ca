// The sum of a long run of float32, in double. Code for each instruction set, with the same bits.
#pragma once

#include <cstdint>

namespace farcall::native {

// `zero` is 0 of either sign, which the sum of no elements is.
double sum_floats(const float* x, int64_t size, double zero);

}  // namespace farcall::native
