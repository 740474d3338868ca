#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/vector/special.cpp"

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

MathLoop double_loop(MathFunction function) {
  switch (function) {
    case MathFunction::kErfcx:
      return map_one<Erfcx, double>;
    case MathFunction::kLogNdtr:
      return map_one<LogNdtr, double>;
    case MathFunction::kNdtri:
      return map_one<NdtriInDouble, double>;
    case MathFunction::kLogit:
      return map_one<Logit, double>;
    case MathFunction::kBesselI0:
      return map_one<BesselI<0>, double>;
    case MathFunction::kBesselI1:
      return map_one<BesselI<1>, double>;
    case MathFunction::kBesselI0e:
      return map_one<BesselIe<0>, double>;
    case MathFunction::kBesselI1e:
      return map_one<BesselIe<1>, double>;
    default:
      return nullptr;
  }
}

// Most are of floats only.
MathLoop special_loop(MathFunction function, bool is_float) {
  if (!is_float) return double_loop(function);
  switch (function) {
    case MathFunction::kErfcx:
      return map_one<Erfcx, float>;
    case MathFunction::kLogNdtr:
      return map_one<LogNdtr, float>;
    case MathFunction::kNdtri:
      return map_one<Ndtri, float>;
    case MathFunction::kLogit:
      return map_one<Logit, float>;
    case MathFunction::kBesselI0:
      return map_one<BesselI<0>, float>;
    case MathFunction::kBesselI1:
      return map_one<BesselI<1>, float>;
    case MathFunction::kBesselI0e:
      return map_one<BesselIe<0>, float>;
    case MathFunction::kBesselI1e:
      return map_one<BesselIe<1>, float>;
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

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
FARCALL_EXPORT_MATH_LOOP(special_loop)
#endif
