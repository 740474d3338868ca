// Puts the loops of vector/math.h into the tables of elementwise kernels.
#pragma once

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/vector/math.h"

namespace farcall::native {

// `loops`, in which the function's loops for float and double, if any, replace the others.
inline LoopTable with_math_loops(LoopTable loops, MathFunction function) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    if (const Loop loop = math_loop(function, dtype)) {
      loops[static_cast<size_t>(dtype)] = {loop, dtype};
    }
  }
  return loops;
}

}  // namespace farcall::native
