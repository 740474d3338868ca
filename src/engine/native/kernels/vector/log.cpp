#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/vector/log.cpp"

#include "engine/native/kernels/vector/math.h"
#include "engine/native/kernels/vector/targets.h"

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "engine/native/kernels/vector/demote-inl.h"
#include "engine/native/kernels/vector/exp-inl.h"
#include "engine/native/kernels/vector/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

// x^y as 2^(y log2 x) in double, which is precise enough for float. Special values are those of C.
template <class D>
HWY_INLINE V<D> pow_in_double(D d, V<D> x, V<D> y) {
  const V<D> a = hn::Abs(x), zero = hn::Zero(d), one = set(d, 1), infinity = set(d, kInf<D>);
  V<D> log = hn::IfThenElse(hn::Eq(a, infinity), infinity, log2_of_positive(d, a));
  log = hn::IfThenElse(hn::Eq(a, zero), hn::Neg(infinity), log);
  const V<D> exponent = hn::Mul(y, log);
  V<D> power = hn::IfThenElse(hn::IsNaN(exponent), exponent, exp2_of_number(d, exponent));
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

void pow_floats(const void* const* inputs, void* output, int64_t size, int64_t) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<double>()));
  const auto *x = static_cast<const float*>(inputs[0]), *y = static_cast<const float*>(inputs[1]);
  auto* result = static_cast<float*>(output);
  for (int64_t i = 0; i < size; i += kLanes) {
    const int64_t left = size - i;
    const bool is_whole = left >= kLanes;
    const auto a = is_whole ? hn::LoadU(narrow, x + i) : load_first(narrow, x + i, left);
    const auto b = is_whole ? hn::LoadU(narrow, y + i) : load_first(narrow, y + i, left);
    const auto power = pow_in_double(d, hn::PromoteTo(d, a), hn::PromoteTo(d, b));
    const auto value = rounded_to_float(d, power);
    if (is_whole) {
      hn::StoreU(value, narrow, result + i);
    } else {
      store_first(narrow, value, result + i, left);
    }
  }
}

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
      return is_float ? pow_floats : nullptr;
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
