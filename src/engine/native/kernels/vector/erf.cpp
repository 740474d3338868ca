#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/vector/erf.cpp"

#include "engine/native/kernels/vector/math.h"
#include "engine/native/kernels/vector/targets.h"

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "engine/native/kernels/vector/erf-inl.h"
#include "engine/native/kernels/vector/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

MathLoop erf_loop(MathFunction function, bool is_float) {
  switch (function) {
    case MathFunction::kErf:
      return one<Erf>(is_float);
    case MathFunction::kErfc:
      return one<Erfc>(is_float);
    case MathFunction::kNdtr:
      return one<Ndtr>(is_float);
    case MathFunction::kErfInv:
      return is_float ? map_one<ErfInv, float> : map_one<ErfInvInDouble, double>;
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
FARCALL_EXPORT_MATH_LOOP(erf_loop)
#endif
