// The loops of vector_math.h in the tables of elementwise kernels.
#pragma once

#include "engine/native/kernels/elementwise.h"
#include "engine/native/kernels/vector_math.h"

namespace farcall::native {

// `loops`, with those of the function on float and double wherever there are any.
inline LoopTable with_math_loops(LoopTable loops, MathFunction function) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    if (const Loop loop = math_loop(function, dtype)) {
      loops[static_cast<size_t>(dtype)] = {loop, dtype};
    }
  }
  return loops;
}

}  // namespace farcall::native
