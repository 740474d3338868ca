#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/vector/exp.cpp"

#include "engine/native/kernels/vector/math.h"
#include "engine/native/kernels/vector/targets.h"

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "engine/native/kernels/vector/exp-inl.h"
#include "engine/native/kernels/vector/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

MathLoop exp_loop(MathFunction function, bool is_float) {
  switch (function) {
    case MathFunction::kExp:
      return one<Exp>(is_float);
    case MathFunction::kExp2:
      return one<Exp2>(is_float);
    case MathFunction::kExpm1:
      return one<Expm1>(is_float);
    case MathFunction::kTanh:
      return one<Tanh>(is_float);
    case MathFunction::kLogistic:
      return one<Logistic>(is_float);
    case MathFunction::kSinh:
      return one<Sinh>(is_float);
    case MathFunction::kCosh:
      return one<Cosh>(is_float);
    case MathFunction::kSqrt:
      return one<Sqrt>(is_float);
    case MathFunction::kRsqrt:
      return one<Rsqrt>(is_float);
    case MathFunction::kCbrt:
      return one<Cbrt>(is_float);
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
FARCALL_EXPORT_MATH_LOOP(exp_loop)
#endif
