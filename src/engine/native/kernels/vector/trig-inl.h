// Trigonometric functions of vectors and their inverses. Large angles are computed by with_large(),
// which is defined in loops-inl.h (included before) or in the namespace of the vectors.
#if defined(FARCALL_VECTOR_TRIG_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FARCALL_VECTOR_TRIG_INL_H
#undef FARCALL_VECTOR_TRIG_INL_H
#else
#define FARCALL_VECTOR_TRIG_INL_H
#endif

#include "engine/native/kernels/vector/basics-inl.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

// x = quadrant pi / 2 + rest by Cody and Waite's reduction, with pi in three parts. It is
// accurate below kTrigLimit.
inline constexpr double kTrigLimitOfDoubles = 0x1p26;
template <class D>
inline constexpr T<D> kTrigLimit = sizeof(T<D>) == 4 ? T<D>(0x1p16) : T<D>(kTrigLimitOfDoubles);

template <class D>
struct Angle {
  hn::Vec<Unsigned<D>> quadrant;
  V<D> sin, cos;  // of the rest

  // If is_short, sin and cos are within 2 units of the last place, otherwise within 1.
  Angle(D d, V<D> magnitude, bool is_short) {
    const V<D> rounder = set(d, kRounder<D>);
    const V<D> shifted = fma(d, magnitude, set(d, Coefficient<D>::kTwoOverPi[0]), rounder);
    const V<D> k = hn::Sub(shifted, rounder);
    quadrant = hn::BitCast(Unsigned<D>(), shifted);
    // Subtracting the first part is exact.
    const V<D> first = nfma(d, k, set(d, Coefficient<D>::kHalfPi[0]), magnitude);
    is_short ? subtract_rest(d, k, first) : subtract_rest_twice(d, k, first);
  }

  // Of pi times a magnitude. NaN for infinities.
  static Angle of_half_turns(D d, V<D> given) {
    Angle angle;
    // Larger numbers are even; infinities become NaN.
    const V<D> largest = set(d, static_cast<T<D>>(uint64_t{4} << kMantissaBits<D>));
    const V<D> magnitude =
        hn::IfThenElse(hn::Lt(largest, given), hn::Mul(given, hn::Zero(d)), given);
    const V<D> quarters = hn::Add(magnitude, magnitude), below = hn::Floor(quarters);
    const V<D> above = hn::Add(below, set(d, 1));
    const auto is_near_above = hn::Lt(set(d, 0.5), hn::Sub(quarters, below));
    const V<D> k = hn::IfThenElse(is_near_above, above, below), rest = hn::Sub(quarters, k);
    const V<D> of_turn = nfma(d, set(d, 4), hn::Floor(hn::Mul(k, set(d, 0.25))), k);
    angle.quadrant = hn::BitCast(Unsigned<D>(), hn::Add(of_turn, set(d, kRounder<D>)));
    const V<D> half_pi = set(d, Coefficient<D>::kHalfPi[0]), high = hn::Mul(rest, half_pi);
    const V<D> low = fma(d, rest, half_pi, hn::Neg(high));
    angle.compute(d, high, fma(d, rest, set(d, Coefficient<D>::kHalfPi[1]), low));
    return angle;
  }

  hn::Mask<D> is_odd(D d) const {
    const Unsigned<D> du;
    return hn::RebindMask(d, hn::TestBit(quadrant, hn::Set(du, 1)));
  }
  // The sign bit if bit 1 of quadrant + `add` is set.
  V<D> sign(D d, int add) const {
    const Unsigned<D> du;
    using Bits = hn::TFromD<Unsigned<D>>;
    const auto bits = hn::Add(quadrant, hn::Set(du, static_cast<Bits>(add)));
    const auto bit = hn::And(bits, hn::Set(du, 2));
    return hn::BitCast(d, hn::ShiftLeft<8 * sizeof(Bits) - 2>(bit));
  }

 private:
  Angle() = default;

  // The terms of smaller angles than the least do not count, and may be subnormal, which takes
  // long.
  static V<D> without_small(D d, V<D> angle) {
    constexpr T<D> kLeast = sizeof(T<D>) == 4 ? T<D>(0x1p-13) : T<D>(0x1p-27);
    return hn::IfThenElse(hn::Lt(hn::Abs(angle), set(d, kLeast)), hn::Zero(d), angle);
  }

  void subtract_rest(D d, V<D> k, V<D> first) {
    const V<D> second = nfma(d, k, set(d, Coefficient<D>::kHalfPi[1]), first);
    compute(d, nfma(d, k, set(d, Coefficient<D>::kHalfPi[2]), second));
  }
  // In twice the precision.
  void subtract_rest_twice(D d, V<D> k, V<D> first) {
    const V<D> middle = set(d, Coefficient<D>::kHalfPi[1]), product = hn::Mul(k, middle);
    const V<D> sum = hn::Sub(first, product);
    V<D> rest = error_of_sum<D>(first, hn::Neg(product), sum);
    rest = hn::Sub(rest, fma(d, k, middle, hn::Neg(product)));
    rest = nfma(d, k, set(d, Coefficient<D>::kHalfPi[2]), rest);
    const V<D> high = hn::Add(sum, rest);
    compute(d, high, hn::Sub(rest, hn::Sub(high, sum)));
  }

  void compute(D d, V<D> reduced) {
    const V<D> angle = without_small(d, reduced), square = hn::Mul(angle, angle);
    sin = fma(d, hn::Mul(square, angle), polynomial(d, square, Coefficient<D>::kSin), reduced);
    cos = fma(d, hn::Mul(square, square), polynomial(d, square, Coefficient<D>::kCos),
              nfma(d, set(d, 0.5), square, set(d, 1)));
  }

  void compute(D d, V<D> high, V<D> low) {
    const V<D> angle = without_small(d, high), square = hn::Mul(angle, angle);
    const V<D> half = hn::Mul(set(d, 0.5), square);
    // cos(high + low) = cos(high) - low sin(high)
    const V<D> cube = hn::Mul(square, angle);
    const V<D> near_low = nfma(d, half, low, low);
    sin = hn::Add(high, fma(d, cube, polynomial(d, square, Coefficient<D>::kSin), near_low));
    const V<D> one = set(d, 1), main = hn::Sub(one, half);
    const V<D> error = hn::Sub(hn::Sub(one, main), half);
    const V<D> fourth = hn::Mul(square, square);
    const V<D> tail =
        fma(d, fourth, polynomial(d, square, Coefficient<D>::kCos), nfma(d, angle, low, error));
    cos = hn::Add(main, tail);
  }
};

template <class D>
HWY_INLINE V<D> sign_of(D d, V<D> x) {
  return hn::And(x, hn::SignBit(d));
}
// The longer way is kept for float64, where it takes a smaller part of the time.
template <class D>
inline constexpr bool kIsShort = sizeof(T<D>) == 4;

struct Sin {
  template <class D>
  HWY_INLINE static V<D> below_limit(D d, V<D> x) {
    const Angle<D> angle(d, hn::Abs(x), kIsShort<D>);
    const V<D> value = hn::IfThenElse(angle.is_odd(d), angle.cos, angle.sin);
    return hn::Xor(value, hn::Xor(angle.sign(d, 0), sign_of(d, x)));
  }
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    return with_large(d, x, kTrigLimit<D>, kTrigLimitOfDoubles, *this,
                      [](T<D> v) { return std::sin(v); });
  }
};
struct Cos {
  template <class D>
  HWY_INLINE static V<D> below_limit(D d, V<D> x) {
    const Angle<D> angle(d, hn::Abs(x), kIsShort<D>);
    const V<D> value = hn::IfThenElse(angle.is_odd(d), angle.sin, angle.cos);
    return hn::Xor(value, angle.sign(d, 1));
  }
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    return with_large(d, x, kTrigLimit<D>, kTrigLimitOfDoubles, *this,
                      [](T<D> v) { return std::cos(v); });
  }
};
struct Tan {
  template <class D>
  HWY_INLINE static V<D> below_limit(D d, V<D> x) {
    const Angle<D> angle(d, hn::Abs(x), /*is_short=*/false);
    const auto is_odd = angle.is_odd(d);
    const V<D> above = hn::IfThenElse(is_odd, hn::Neg(angle.cos), angle.sin);
    const V<D> below = hn::IfThenElse(is_odd, angle.sin, angle.cos);
    return hn::Xor(hn::Div(above, below), sign_of(d, x));
  }
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    return with_large(d, x, kTrigLimit<D>, kTrigLimitOfDoubles, *this,
                      [](T<D> v) { return std::tan(v); });
  }
};

// sin(pi x): exact at multiples of 1/2. Zeros have the sign of x.
struct SinPi {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const auto angle = Angle<D>::of_half_turns(d, hn::Abs(x));
    const V<D> value = hn::IfThenElse(angle.is_odd(d), angle.cos, angle.sin);
    const V<D> with_sign = hn::Xor(value, hn::Xor(angle.sign(d, 0), sign_of(d, x)));
    return hn::IfThenElse(hn::Eq(value, hn::Zero(d)), sign_of(d, x), with_sign);
  }
};
// cos(pi x): exact at multiples of 1/2. Zeros are positive.
struct CosPi {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const auto angle = Angle<D>::of_half_turns(d, hn::Abs(x));
    const V<D> value = hn::IfThenElse(angle.is_odd(d), angle.sin, angle.cos);
    return hn::Add(hn::Xor(value, angle.sign(d, 1)), hn::Zero(d));
  }
};

// ---- inverses

// asin(s) / s - 1 as a function of s^2, for |s| <= 1/2.
template <class D>
HWY_INLINE V<D> asin_series(D d, V<D> square) {
  return hn::Mul(square, polynomial(d, square, Coefficient<D>::kAsin));
}

// For a > 1/2: asin(a) = pi / 2 - 2 asin(sqrt((1 - a) / 2)).
template <class D>
struct AsinParts {
  hn::Mask<D> is_large;
  V<D> s, rest;  // asin(s) = s + rest

  AsinParts(D d, V<D> a) {
    const V<D> half = set(d, 0.5);
    is_large = hn::Gt(a, half);
    const V<D> complement = nfma(d, half, a, half);
    const V<D> square = hn::IfThenElse(is_large, complement, hn::Mul(a, a));
    s = hn::IfThenElse(is_large, hn::Sqrt(complement), a);
    rest = hn::Mul(s, asin_series(d, square));
  }
};

struct Asin {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const AsinParts<D> parts(d, hn::Abs(x));
    const V<D> small = hn::Add(parts.s, parts.rest);
    const V<D> high = set(d, Coefficient<D>::kHalfPi[0]), low = set(d, Coefficient<D>::kHalfPi[1]);
    const V<D> twice = hn::Add(small, small);
    const V<D> value = hn::IfThenElse(parts.is_large, hn::Sub(high, hn::Sub(twice, low)), small);
    const V<D> with_sign = hn::CopySign(value, x);
    return hn::IfThenElse(hn::IsNaN(x), x, with_sign);
  }
};
struct Acos {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const AsinParts<D> parts(d, hn::Abs(x));
    const V<D> high = set(d, Coefficient<D>::kHalfPi[0]), low = set(d, Coefficient<D>::kHalfPi[1]);
    const V<D> s = hn::CopySign(parts.s, x), rest = hn::CopySign(parts.rest, x);
    const V<D> near_zero = hn::Sub(high, hn::Sub(s, hn::Sub(low, rest)));
    const V<D> sum = hn::Add(parts.s, parts.rest), twice = hn::Add(sum, sum);
    const V<D> pi = hn::Add(high, high), pi_low = hn::Add(low, low);
    const auto is_negative = hn::Lt(x, hn::Zero(d));
    const V<D> large = hn::IfThenElse(is_negative, hn::Sub(pi, hn::Sub(twice, pi_low)), twice);
    return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(parts.is_large, large, near_zero));
  }
};

// The angle from 0 to pi / 2 whose tangent is y / x, for y, x >= 0: the base is 0, pi / 4 or pi /
// 2, whichever is nearest, plus an angle of at most pi / 8.
template <class D>
struct SmallAngle {
  V<D> base_high, base_low, t, rest;  // base + t + rest

  SmallAngle(D d, V<D> y, V<D> x) {
    const V<D> tan_eighth = set(d, T<D>(0.41421356237309503));
    const auto is_low = hn::Le(y, hn::Mul(tan_eighth, x));
    const auto is_high = hn::Lt(x, hn::Mul(tan_eighth, y));
    const V<D> high = set(d, Coefficient<D>::kHalfPi[0]), low = set(d, Coefficient<D>::kHalfPi[1]);
    const V<D> half = set(d, 0.5), zero = hn::Zero(d);
    const V<D> factor = hn::IfThenElse(is_high, set(d, 1), half);
    base_high = hn::IfThenElse(is_low, zero, hn::Mul(factor, high));
    base_low = hn::IfThenElse(is_low, zero, hn::Mul(factor, low));
    const V<D> middle_above = hn::Sub(y, x), middle_below = hn::Add(y, x);
    V<D> above = hn::IfThenElse(is_high, hn::Neg(x), middle_above);
    V<D> below = hn::IfThenElse(is_high, y, middle_below);
    above = hn::IfThenElse(is_low, y, above);
    below = hn::IfThenElse(is_low, x, below);
    t = hn::Div(above, below);
    const V<D> square = hn::Mul(t, t);
    rest = hn::Mul(hn::Mul(t, square), polynomial(d, square, Coefficient<D>::kAtan));
  }
  V<D> value() const { return hn::Add(base_high, hn::Add(t, hn::Add(rest, base_low))); }
};

struct Atan {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const SmallAngle<D> angle(d, hn::Abs(x), set(d, 1));
    return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(angle.value(), x));
  }
};

struct Atan2 {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> y, V<D> x) const {
    const V<D> one = set(d, 1), zero = hn::Zero(d), infinity = set(d, kInf<D>);
    V<D> a = hn::Abs(y), b = hn::Abs(x);
    // The angle of two infinities is pi / 4, that of two zeros 0. Scaling keeps sums finite and
    // products normal.
    const auto are_infinite = hn::And(hn::Eq(a, infinity), hn::Eq(b, infinity));
    a = hn::IfThenElse(are_infinite, one, a);
    b = hn::IfThenElse(are_infinite, one, b);
    const auto are_zero = hn::And(hn::Eq(a, zero), hn::Eq(b, zero));
    b = hn::IfThenElse(are_zero, one, b);
    using Limits = std::numeric_limits<T<D>>;
    const V<D> larger = hn::Max(a, b);
    const V<D> up = set(d, 4 / Limits::epsilon());
    V<D> factor = hn::IfThenElse(hn::Lt(larger, set(d, 4 * Limits::min())), up, one);
    factor = hn::IfThenElse(hn::Gt(larger, set(d, Limits::max() / 4)), set(d, 0.25), factor);
    const SmallAngle<D> angle(d, hn::Mul(a, factor), hn::Mul(b, factor));
    const V<D> pi = set(d, 2 * Coefficient<D>::kHalfPi[0]);
    const V<D> pi_low = set(d, 2 * Coefficient<D>::kHalfPi[1]);
    // pi - (base + t + rest); pi - base is exact.
    const V<D> low = hn::Sub(hn::Sub(pi_low, angle.base_low), angle.rest);
    const V<D> opposite = hn::Add(hn::Sub(pi, angle.base_high), hn::Sub(low, angle.t));
    const auto is_left = hn::Lt(hn::CopySign(one, x), zero);
    const V<D> value = hn::CopySign(hn::IfThenElse(is_left, opposite, angle.value()), y);
    return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::IsNaN(y)), hn::Add(x, y), value);
  }
};

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
