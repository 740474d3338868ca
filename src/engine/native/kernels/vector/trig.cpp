#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/vector/trig.cpp"

#include "engine/native/kernels/vector/math.h"
#include "engine/native/kernels/vector/targets.h"

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "engine/native/kernels/vector/loops-inl.h"
#include "engine/native/kernels/vector/trig-inl.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

MathLoop trig_loop(MathFunction function, bool is_float) {
  switch (function) {
    case MathFunction::kSin:
      return one<Sin>(is_float);
    case MathFunction::kCos:
      return one<Cos>(is_float);
    case MathFunction::kTan:
      return one<Tan>(is_float);
    case MathFunction::kSinPi:
      return one<SinPi>(is_float);
    case MathFunction::kCosPi:
      return one<CosPi>(is_float);
    case MathFunction::kAsin:
      return one<Asin>(is_float);
    case MathFunction::kAcos:
      return one<Acos>(is_float);
    case MathFunction::kAtan:
      return one<Atan>(is_float);
    case MathFunction::kAtan2:
      return is_float ? map_two<Atan2, float> : map_two<Atan2, double>;
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
FARCALL_EXPORT_MATH_LOOP(trig_loop)
#endif
