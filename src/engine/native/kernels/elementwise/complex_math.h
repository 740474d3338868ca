// Functions of complex64 as loops, computed in float64 by those of vector/math.h: the same bits for
// all instruction sets. Errors are about half a unit in the last place of each part. Special values
// are those of the C standard (annex G).
#pragma once

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/vector/math.h"

namespace farcall::native {

// Null if there is none.
Loop complex_math_loop(MathFunction function);

Loop complex_div_loop();
// Its results are float32, with errors below 1.25 units in the last place. In
// vector/magnitudes.cpp.
Loop complex_abs_loop();

}  // namespace farcall::native
