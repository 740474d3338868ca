// Puts the loops of vector/math.h and complex_math.h into the tables of elementwise kernels.
#pragma once

#include "engine/native/kernels/elementwise/complex_math.h"
#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/vector/math.h"

namespace farcall::native {

// `loops`, in which the function's loops for float, double and complex64, if any, replace the
// others.
inline LoopTable with_math_loops(LoopTable loops, MathFunction function) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    if (const Loop loop = math_loop(function, dtype)) {
      loops = with_loop(loops, dtype, {loop, dtype});
    }
  }
  if (const Loop loop = complex_math_loop(function)) {
    loops = with_loop(loops, DType::kComplex64, {loop, DType::kComplex64});
  }
  return loops;
}

}  // namespace farcall::native
