// The sum of a long run of float32, computed in double. Every instruction set gives the same bits.
#pragma once

#include <cstdint>

namespace farcall::native {

// `zero` is +0 or -0: the sum of no elements.
double sum_floats(const float* x, int64_t size, double zero);

}  // namespace farcall::native
