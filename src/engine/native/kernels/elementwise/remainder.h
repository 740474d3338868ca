// The remainders of float32 and float64 as vectorized loops. They are exact, as std::fmod is.
#pragma once

#include "engine/native/kernels/elementwise/elementwise.h"

namespace farcall::native {

Loop float32_remainder_loop();
// Null if the instruction set in use has no fused multiply-add of vectors.
Loop float64_remainder_loop();

}  // namespace farcall::native
