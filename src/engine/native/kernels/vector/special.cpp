#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/vector/special.cpp"

#include <type_traits>

#include "engine/native/kernels/vector/math.h"
#include "engine/native/kernels/vector/targets.h"

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "engine/native/kernels/vector/loops-inl.h"
// Needs with_scalar_of() of loops-inl.h.
#include "engine/native/kernels/vector/special-inl.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

template <class T>
MathLoop loop_of(MathFunction function) {
  switch (function) {
    case MathFunction::kErfcx:
      return map_one<Erfcx, T>;
    case MathFunction::kLogNdtr:
      return map_one<LogNdtr, T>;
    case MathFunction::kNdtri:
      return map_one<std::conditional_t<sizeof(T) == 4, Ndtri, NdtriInDouble>, T>;
    case MathFunction::kLogit:
      return map_one<Logit, T>;
    case MathFunction::kBesselI0:
      return map_one<BesselI<0>, T>;
    case MathFunction::kBesselI1:
      return map_one<BesselI<1>, T>;
    case MathFunction::kBesselI0e:
      return map_one<BesselIe<0>, T>;
    case MathFunction::kBesselI1e:
      return map_one<BesselIe<1>, T>;
    default:
      return nullptr;
  }
}

// Others are computed as doubles, for floats only.
MathLoop loop_in_double(MathFunction function) {
  switch (function) {
    case MathFunction::kLgamma:
      return map_in_double<Lgamma, 1>;
    case MathFunction::kGamma:
      return map_in_double<Gamma, 1>;
    case MathFunction::kFactorial:
      return map_in_double<Factorial, 1>;
    case MathFunction::kDigamma:
      return map_in_double<Digamma, 1>;
    case MathFunction::kZeta:
      return map_in_double<Zeta, 2>;
    case MathFunction::kBetaln:
      return map_in_double<Betaln, 2>;
    default:
      return nullptr;
  }
}

MathLoop special_loop(MathFunction function, bool is_float) {
  if (!is_float) return loop_of<double>(function);
  const MathLoop loop = loop_of<float>(function);
  return loop ? loop : loop_in_double(function);
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
FARCALL_EXPORT_MATH_LOOP(special_loop)
#endif
