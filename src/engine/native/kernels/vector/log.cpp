#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/vector/log.cpp"

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

// x^y as 2^(y log2 x) in double, which is precise enough for float. Special values are those of C.
struct Pow {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x, V<D> y) const {
    const V<D> a = hn::Abs(x), zero = hn::Zero(d), one = set(d, 1), infinity = set(d, kInf<D>);
    V<D> log = hn::IfThenElse(hn::Eq(a, infinity), infinity, log2_of_positive(d, a));
    log = hn::IfThenElse(hn::Eq(a, zero), hn::Neg(infinity), log);
    const V<D> exponent = hn::Mul(y, log);
    V<D> power = exp2_of(d, exponent);
    const V<D> half = hn::Mul(y, set(d, 0.5));
    const auto is_whole = hn::Eq(hn::Floor(y), y), is_even = hn::Eq(hn::Floor(half), half);
    const auto is_odd = hn::AndNot(is_even, is_whole);
    const auto has_sign = hn::Lt(hn::CopySign(one, x), zero);
    power = hn::IfThenElse(hn::And(has_sign, is_odd), hn::Neg(power), power);
    const auto is_finite_negative = hn::And(hn::Lt(x, zero), hn::Lt(a, infinity));
    power = nan_where(d, hn::AndNot(is_whole, is_finite_negative), power);
    const auto is_minus_one = hn::And(hn::Eq(x, hn::Neg(one)), hn::Eq(hn::Abs(y), infinity));
    const auto is_one = hn::Or(hn::Or(hn::Eq(x, one), hn::Eq(y, zero)), is_minus_one);
    const V<D> number = hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::IsNaN(y)), hn::Add(x, y), power);
    return hn::IfThenElse(is_one, one, number);
  }
};

MathLoop log_loop(MathFunction function, bool is_float) {
  switch (function) {
    case MathFunction::kLog:
      return one<Log>(is_float);
    case MathFunction::kLog2:
      return one<Log2>(is_float);
    case MathFunction::kLog10:
      return one<Log10>(is_float);
    case MathFunction::kLog1p:
      return one<Log1p>(is_float);
    case MathFunction::kAsinh:
      return one<Asinh>(is_float);
    case MathFunction::kAcosh:
      return one<Acosh>(is_float);
    case MathFunction::kAtanh:
      return one<Atanh>(is_float);
    case MathFunction::kPow:
      return is_float ? map_in_double<Pow, 2> : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
FARCALL_EXPORT_MATH_LOOP(log_loop)
#endif
