#include "engine/native/kernels/vector/math.h"

namespace farcall::native {

MathLoop math_loop(MathFunction function, DType dtype) {
  if (dtype != DType::kFloat32 && dtype != DType::kFloat64) return nullptr;
  for (const auto family : {exp_loop, log_loop, trig_loop, erf_loop, special_loop}) {
    if (const MathLoop loop = family(function, dtype == DType::kFloat32)) return loop;
  }
  return nullptr;
}

}  // namespace farcall::native
