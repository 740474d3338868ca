// Special functions of vectors of floats, some also of doubles. Those of the second part take
// vectors of doubles, whose results are precise enough for float. Included in the same way as
// basics-inl.h.
#if defined(FARCALL_VECTOR_SPECIAL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FARCALL_VECTOR_SPECIAL_INL_H
#undef FARCALL_VECTOR_SPECIAL_INL_H
#else
#define FARCALL_VECTOR_SPECIAL_INL_H
#endif

#include <limits>
#include <numbers>

#include "engine/native/kernels/special/special.h"
#include "engine/native/kernels/vector/erf-inl.h"
#include "engine/native/kernels/vector/trig-inl.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

// ---- the normal distribution

// Half of e^(a^2) erfc(a) for a >= kErfSmall. 1 + 2 a might overflow.
template <class D>
HWY_INLINE V<D> half_scaled_erfc(D d, V<D> a) {
  const V<D> center = set(d, Coefficient<D>::kErfcCenter[0]), half = set(d, 0.5);
  const V<D> bounded = hn::Min(a, set(d, T<D>(0x1p60)));
  const V<D> t = hn::Div(hn::Sub(bounded, center), hn::Add(bounded, center));
  const V<D> quarter = set(d, 0.25), divisor = hn::Add(a, half);
  if constexpr (sizeof(T<D>) == 4) {
    return hn::Div(hn::Mul(quarter, polynomial(d, t, Coefficient<D>::kErfcx)), divisor);
  } else {
    const V<D> near = hn::Div(hn::Mul(quarter, polynomial(d, t, Coefficient<D>::kErfc)), divisor);
    // Abramowitz and Stegun, 7.1.23, in powers of 1 / (2 a^2).
    static constexpr T<D> kSeries[] = {1, -1, 3, -15, 105, -945, 10395, -135135};
    const V<D> power = hn::Div(half, hn::Mul(bounded, bounded));
    const V<D> series =
        hn::Mul(set(d, T<D>(std::numbers::inv_sqrtpi / 2)), polynomial(d, power, kSeries));
    return hn::IfThenElse(hn::Gt(a, set(d, 26)), hn::Div(series, a), near);
  }
}

// e^(x^2) erfc(x); below zero, erfc(x) is 2 - erfc(-x).
struct Erfcx {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    // Farther below zero, the result is infinite.
    constexpr T<D> kEnd = sizeof(T<D>) == 4 ? T<D>(9.4) : T<D>(26.64);
    const V<D> two = set(d, 2), a = hn::Abs(x);
    const V<D> bounded = hn::Min(a, set(d, kEnd)), square = hn::Mul(bounded, bounded);
    const V<D> rest = fma(d, bounded, bounded, hn::Neg(square));
    const V<D> nearly = exp_of(d, square);
    const V<D> power = fma(d, nearly, rest, nearly);
    const V<D> tail = hn::Mul(two, half_scaled_erfc(d, a));
    const V<D> large =
        hn::IfThenElse(hn::Lt(x, hn::Zero(d)), fma(d, two, power, hn::Neg(tail)), tail);
    const V<D> small = nfma(d, power, small_erf(d, x), power);
    const V<D> value = hn::IfThenElse(hn::Lt(a, set(d, kErfSmall<D>)), small, large);
    const V<D> finite = hn::IfThenElse(hn::Lt(x, set(d, -kEnd)), set(d, kInf<D>), value);
    return hn::IfThenElse(hn::IsNaN(x), x, finite);
  }
};

// The logarithm of ndtr(x): far below zero that of e^(-x^2 / 2) times the scaled complement, above
// zero log(1 - ndtr(-x)).
struct LogNdtr {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    constexpr auto kRootOfHalf = T<D>(std::numbers::sqrt2 / 2);
    const V<D> zero = hn::Zero(d), one = set(d, 1), half = set(d, 0.5);
    const V<D> a = hn::Mul(hn::Min(hn::Abs(x), set(d, T<D>(0x1p60))), set(d, kRootOfHalf));
    const auto is_above = hn::Gt(x, zero), is_near = hn::Lt(a, set(d, kErfSmall<D>));
    const V<D> probability = Ndtr()(d, hn::IfThenElse(is_above, hn::Neg(x), x));
    const V<D> factor = half_scaled_erfc(d, a);
    const V<D> added = hn::IfThenElse(is_above, hn::Neg(probability), hn::Sub(probability, one));
    const auto is_far = hn::AndNot(hn::Or(is_above, is_near), hn::Lt(x, zero));
    const V<D> sum = hn::IfThenElse(is_far, factor, hn::Add(one, added));
    const V<D> error = hn::IfThenElse(is_far, zero, error_of_sum<D>(one, added, sum));
    const V<D> log = log_of_sum(d, sum, error, zero);
    const V<D> value = hn::IfThenElse(is_far, nfma(d, hn::Mul(half, x), x, log), log);
    // Zeros are negative.
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Neg(hn::Abs(value)));
  }
};

// ndtr(x) = p for x = sqrt(2) erf_inv(2 p - 1); see ErfInv.
struct Ndtri {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> p) const {
    const V<D> zero = hn::Zero(d), one = set(d, 1);
    const V<D> product = hn::Mul(hn::Mul(set(d, 4), p), hn::Sub(one, p));
    const LogArgument<D> argument(d, product);
    const V<D> w = hn::Neg(natural_log(d, argument.exponent, Log1pParts<D>(d, argument.f)));
    const V<D> root = hn::Sqrt(w);
    const V<D> far = polynomial(d, hn::Sub(root, set(d, 7)), Coefficient<D>::kErfInvFar);
    const V<D> factor = hn::IfThenElse(hn::Lt(w, set(d, 16)), erf_inv_factor(d, w, root), far);
    const V<D> signed_part = hn::Sub(hn::Add(p, p), one);
    V<D> value = hn::Mul(hn::Mul(signed_part, set(d, std::numbers::sqrt2_v<T<D>>)), factor);
    value = hn::IfThenElse(hn::Eq(p, zero), set(d, -kInf<D>), value);
    value = hn::IfThenElse(hn::Eq(p, one), set(d, kInf<D>), value);
    value = nan_where(d, hn::Or(hn::Lt(p, zero), hn::Gt(p, one)), value);
    return hn::IfThenElse(hn::IsNaN(p), p, value);
  }
};

struct NdtriInDouble {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> p) const {
    const V<D> zero = hn::Zero(d), one = set(d, 1), half = set(d, 0.5);
    const V<D> tail = hn::IfThenElse(hn::Lt(p, half), p, hn::Sub(one, p));
    const V<D> q = hn::Add(tail, tail);  // exact, as is 1 - q in the middle
    const V<D> magnitude =
        hn::Mul(set(d, std::numbers::sqrt2), refined_erf_inv(d, hn::Sub(one, q), q));
    V<D> value = hn::CopySign(magnitude, hn::Sub(p, half));
    value = hn::IfThenElse(hn::Eq(p, zero), set(d, -kInf<D>), value);
    value = hn::IfThenElse(hn::Eq(p, one), set(d, kInf<D>), value);
    value = nan_where(d, hn::Or(hn::Lt(p, zero), hn::Gt(p, one)), value);
    value = hn::IfThenElse(hn::IsNaN(p), p, value);
    const auto is_tiny = hn::And(hn::Gt(p, zero), hn::Lt(p, set(d, 0x1p-150)));
    return with_scalar(d, is_tiny, p, value, [](double x) { return ndtri(x); });
  }
};

// log(x / (1 - x)). Near 1/2 it is near 0, and computed from the quotient less 1.
struct Logit {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const V<D> zero = hn::Zero(d), one = set(d, 1), complement = hn::Sub(one, x);
    const auto is_low = hn::Lt(x, set(d, 0.25));
    // Subnormal numbers have no logarithm here.
    constexpr int kDoublings = sizeof(T<D>) == 4 ? 30 : 60;
    constexpr T<D> kFactor = T<D>(int64_t{1} << kDoublings), kTiny = 1 / (kFactor * kFactor);
    const auto is_tiny = hn::Lt(x, set(d, kTiny));
    const V<D> larger = hn::IfThenElse(is_tiny, hn::Mul(x, set(d, kFactor)), x);
    const V<D> above = hn::IfThenElse(is_low, larger, hn::Sub(hn::Add(x, x), one));
    const V<D> quotient = hn::Div(above, complement), sum = hn::Add(one, quotient);
    const V<D> error = hn::IfThenElse(is_low, zero, error_of_sum<D>(one, quotient, sum));
    const V<D> doublings = hn::IfThenElse(is_tiny, set(d, T<D>(-kDoublings)), zero);
    const V<D> value = log_of_sum(d, hn::IfThenElse(is_low, quotient, sum), error, doublings);
    V<D> result = hn::IfThenElse(hn::Eq(x, zero), set(d, -kInf<D>), value);
    result = hn::IfThenElse(hn::Eq(x, one), set(d, kInf<D>), result);
    result = nan_where(d, hn::Or(hn::Lt(x, zero), hn::Gt(x, one)), result);
    return hn::IfThenElse(hn::IsNaN(x), x, result);
  }
};

// ---- modified Bessel functions of the first kind

template <class D>
inline constexpr T<D> kBesselSplit = sizeof(T<D>) == 4 ? 6 : 8;
// Above, the functions are infinite.
template <class D>
inline constexpr T<D> kBesselHigh = sizeof(T<D>) == 4 ? 96 : 720;

// For a >= 0: I_n(a) for a < kBesselSplit, or sqrt(a) e^-a I_n(a). The series of I_n is in powers
// of (a / 2)^2 (Abramowitz and Stegun, 9.6.10), the other one in powers of 1 / a (9.7.1).
template <class D, int kOrder>
struct BesselParts {
  hn::Mask<D> is_near;
  V<D> near, far, root;

  BesselParts(D d, V<D> a) {
    const V<D> one = set(d, 1), split = set(d, kBesselSplit<D>);
    is_near = hn::Lt(a, split);
    const V<D> half = hn::Mul(set(d, 0.5), hn::Min(a, split)), y = hn::Mul(half, half);
    const V<D> outside = hn::Max(a, split), inverse = hn::Div(one, outside);
    // The many coefficients of doubles are for 16 / a - 1, which is between -1 and 1.
    const V<D> w = sizeof(T<D>) == 4 ? inverse : fma(d, inverse, set(d, 16), set(d, -1));
    root = hn::Sqrt(outside);
    if constexpr (kOrder == 0) {
      near = fma(d, y, polynomial(d, y, Coefficient<D>::kBesselNear0), one);
      far = polynomial(d, w, Coefficient<D>::kBesselFar0);
    } else {
      const V<D> series = polynomial(d, y, Coefficient<D>::kBesselNear1);
      near = fma(d, hn::Mul(half, y), series, half);
      far = polynomial(d, w, Coefficient<D>::kBesselFar1);
    }
  }
};

template <int kOrder, class D>
HWY_INLINE V<D> with_sign_of_order(D, V<D> x, V<D> value) {
  const V<D> result = kOrder == 0 ? value : hn::CopySign(value, x);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

template <int kOrder>
struct BesselIe {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const V<D> a = hn::Abs(x);
    const BesselParts<D, kOrder> parts(d, a);
    const V<D> power = exp_of(d, hn::Neg(hn::Min(a, set(d, kBesselSplit<D>))));
    const V<D> value =
        hn::IfThenElse(parts.is_near, hn::Mul(parts.near, power), hn::Div(parts.far, parts.root));
    return with_sign_of_order<kOrder>(d, x, value);
  }
};

template <int kOrder>
struct BesselI {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const V<D> a = hn::Min(hn::Abs(x), set(d, kBesselHigh<D>));
    const BesselParts<D, kOrder> parts(d, a);
    const ExpArgument<D> e = reduce_exp(d, a);
    const V<D> mantissa = hn::Add(set(d, 1), small_expm1(d, e.r));
    const V<D> far = scale(d, hn::Mul(mantissa, hn::Div(parts.far, parts.root)), e.k);
    return with_sign_of_order<kOrder>(d, x, hn::IfThenElse(parts.is_near, parts.near, far));
  }
};

// ---- the gamma function and its relatives, for doubles

// log(gamma(z)) without the main terms of Stirling's formula, for z >= 8: Abramowitz and Stegun,
// 6.1.40.
template <class D>
HWY_INLINE V<D> stirling_rest(D d, V<D> z) {
  constexpr T<D> kSeries[] = {T<D>(1) / 12,    T<D>(-1) / 360,      T<D>(1) / 1260,
                              T<D>(-1) / 1680, T<D>(1) / 1188,      T<D>(-691) / 360360,
                              T<D>(1) / 156,   T<D>(-3617) / 122400};
  const V<D> inverse = hn::Div(set(d, 1), z);
  return hn::Mul(inverse, polynomial(d, hn::Mul(inverse, inverse), kSeries));
}

// x, or 1 - x for x < 1/2, is y. Stirling's formula is for z >= 8, which is y, or y + 8 for y < 8.
template <class D>
struct GammaArgument {
  hn::Mask<D> is_reflected, is_near;
  V<D> y, z;

  GammaArgument(D d, V<D> x) {
    is_reflected = hn::Lt(x, set(d, 0.5));
    y = hn::IfThenElse(is_reflected, hn::Sub(set(d, 1), x), x);
    is_near = hn::Lt(y, set(d, 8));
    z = hn::IfThenElse(is_near, hn::Add(y, set(d, 8)), y);
  }
  // y (y + 7) for y < 8: the product of y to y + 7 is u (u + 6) (u + 10) (u + 12).
  V<D> u(D d) const { return hn::IfThenElseZero(is_near, fma(d, y, y, hn::Mul(set(d, 7), y))); }
  // gamma(z) / gamma(y)
  V<D> steps(D d) const {
    const V<D> at = u(d);
    V<D> product = hn::Mul(at, hn::Add(at, set(d, 6)));
    product = hn::Mul(product, hn::Mul(hn::Add(at, set(d, 10)), hn::Add(at, set(d, 12))));
    return hn::IfThenElse(is_near, product, set(d, 1));
  }
  // log(gamma(z))
  V<D> log_gamma(D d) const {
    constexpr T<D> kHalfLogTwoPi = 0.918938533204672741780329736405617639861;
    const V<D> rest = hn::Add(stirling_rest(d, z), hn::Sub(set(d, kHalfLogTwoPi), z));
    return fma(d, hn::Sub(z, set(d, 0.5)), Log()(d, z), rest);
  }
};

// gamma(x) gamma(1 - x) = pi / sin(pi x)
struct Lgamma {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const GammaArgument<D> a(d, x);
    const V<D> steps = a.steps(d), stirling = a.log_gamma(d);
    V<D> factor = steps;
    if (!hn::AllFalse(d, a.is_reflected)) {
      const V<D> sine = hn::Abs(SinPi()(d, x));
      const V<D> reflected = hn::Div(hn::Mul(set(d, std::numbers::pi), steps), sine);
      factor = hn::IfThenElse(a.is_reflected, reflected, steps);
    }
    const V<D> log = Log()(d, factor), difference = hn::Sub(stirling, log);
    const V<D> value = hn::IfThenElse(a.is_reflected, hn::Neg(difference), difference);
    V<D> result = hn::IfThenElse(hn::Eq(hn::Abs(x), set(d, kInf<D>)), set(d, kInf<D>), value);
    const auto is_zero = hn::Or(hn::Eq(x, set(d, 1)), hn::Eq(x, set(d, 2)));
    result = hn::IfThenElse(is_zero, hn::Zero(d), result);
    return hn::IfThenElse(hn::IsNaN(x), x, result);
  }
};

// NaN at the negative poles; infinite at zeros, with their sign.
struct Gamma {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const V<D> zero = hn::Zero(d);
    // Above, the results for float are infinite; below, they are zeros, or poles.
    const V<D> bounded = clamp(d, x, T<D>(-170.5), 100);
    const GammaArgument<D> a(d, bounded);
    const V<D> steps = a.steps(d), stirling = a.log_gamma(d);
    const V<D> exponent = hn::IfThenElse(a.is_reflected, hn::Neg(stirling), stirling);
    const V<D> power = exp_of(d, exponent);
    V<D> value = hn::Div(power, steps);
    if (!hn::AllFalse(d, a.is_reflected)) {
      const V<D> factor = hn::Div(hn::Mul(set(d, std::numbers::pi), steps), SinPi()(d, x));
      value = hn::IfThenElse(a.is_reflected, hn::Mul(factor, power), value);
    }
    const auto is_pole = hn::And(hn::Lt(x, zero), hn::Eq(hn::Floor(x), x));
    const V<D> result = hn::IfThenElse(hn::Eq(x, set(d, kInf<D>)), x, nan_where(d, is_pole, value));
    return hn::IfThenElse(hn::IsNaN(x), x, result);
  }
};

struct Factorial {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    return Gamma()(d, hn::Add(x, set(d, 1)));
  }
};

// The derivative of the logarithm of the gamma function: Abramowitz and Stegun, 6.3.18. NaN at its
// poles and at minus infinity.
struct Digamma {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    constexpr T<D> kSeries[] = {T<D>(-1) / 12, T<D>(1) / 120,    T<D>(-1) / 252,
                                T<D>(1) / 240, T<D>(-1) / 132,   T<D>(691) / 32760,
                                T<D>(-1) / 12, T<D>(3617) / 8160};
    // The derivative of the product of steps by u.
    constexpr T<D> kSlope[] = {720, 504, 84, 4};
    const GammaArgument<D> a(d, x);
    const V<D> inverse = hn::Div(set(d, 1), a.z), square = hn::Mul(inverse, inverse);
    V<D> value = fma(d, square, polynomial(d, square, kSeries), Log()(d, a.z));
    value = nfma(d, set(d, 0.5), inverse, value);
    const V<D> slope = hn::Mul(fma(d, set(d, 2), a.y, set(d, 7)), polynomial(d, a.u(d), kSlope));
    value = hn::Sub(value, hn::IfThenElseZero(a.is_near, hn::Div(slope, a.steps(d))));
    if (!hn::AllFalse(d, a.is_reflected)) {
      const auto angle = Angle<D>::of_half_turns(d, hn::Abs(x));
      const auto is_odd = angle.is_odd(d);
      const V<D> above = hn::IfThenElse(is_odd, hn::Neg(angle.sin), angle.cos);
      const V<D> below = hn::IfThenElse(is_odd, angle.cos, angle.sin);
      const V<D> cotangent = hn::Xor(hn::Div(above, below), sign_of(d, x));
      const V<D> reflected = nfma(d, set(d, std::numbers::pi), cotangent, value);
      value = hn::IfThenElse(a.is_reflected, reflected, value);
    }
    const auto is_pole = hn::And(hn::Le(x, hn::Zero(d)), hn::Eq(hn::Floor(x), x));
    value = hn::IfThenElse(hn::Eq(x, set(d, kInf<D>)), x, nan_where(d, is_pole, value));
    return hn::IfThenElse(hn::IsNaN(x), x, value);
  }
};

// The logarithm of gamma(a) gamma(b) / gamma(a + b).
struct Betaln {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> a, V<D> b) const {
    const V<D> p = hn::Min(a, b), q = hn::Max(a, b), sum = hn::Add(p, q);
    const auto is_large = hn::Ge(q, set(d, 10));
    V<D> value = hn::Zero(d);
    if (!hn::AllTrue(d, is_large)) value = hn::Sub(Lgamma()(d, q), Lgamma()(d, sum));
    if (!hn::AllFalse(d, is_large)) {
      // By Stirling's formula, arranged so that large terms cancel before they are computed.
      V<D> large = hn::Add(p, hn::Sub(stirling_rest(d, q), stirling_rest(d, sum)));
      large = nfma(d, p, Log()(d, sum), large);
      const V<D> log = Log1p()(d, hn::Neg(hn::Div(p, sum)));
      large = fma(d, hn::Sub(q, set(d, 0.5)), log, large);
      value = hn::IfThenElse(is_large, large, value);
    }
    const auto is_usual = [&](V<D> x) HWY_ATTR {
      return hn::And(hn::Gt(x, hn::Zero(d)), hn::Lt(x, set(d, kInf<D>)));
    };
    return with_scalar_of(d, hn::Not(hn::And(is_usual(a), is_usual(b))),
                          hn::Add(Lgamma()(d, p), value), log_beta<T<D>>, a, b);
  }
};

// The Hurwitz zeta function by the Euler-Maclaurin formula after kTerms terms, for s from 1 on and
// positive q: Abramowitz and Stegun, 23.2.3.
struct Zeta {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> s, V<D> q) const {
    constexpr int kTerms = 10;
    // B(2j) / (2j)!
    constexpr T<D> kSeries[] = {T<D>(1) / 12,       T<D>(-1) / 720,     T<D>(1) / 30240,
                                T<D>(-1) / 1209600, T<D>(1) / 47900160, T<D>(-691) / 1307674368000};
    const V<D> negative = hn::Neg(s), one = set(d, 1);
    const auto power = [&](V<D> x) HWY_ATTR {
      return exp2_of(d, hn::Mul(negative, log2_of_positive(d, x)));
    };
    V<D> sum = hn::Zero(d);
    for (int k = 0; k < kTerms; ++k) sum = hn::Add(sum, power(hn::Add(q, set(d, k))));
    const V<D> at = hn::Add(q, set(d, kTerms)), inverse = hn::Div(one, at);
    V<D> factor = hn::Mul(s, inverse), order = s;
    V<D> rest = hn::Add(hn::Div(at, hn::Sub(s, one)), set(d, 0.5));
    for (const T<D> c : kSeries) {
      rest = fma(d, factor, set(d, c), rest);
      const V<D> next = hn::Mul(hn::Add(order, one), inverse);
      order = hn::Add(order, set(d, 2));
      factor = hn::Mul(factor, hn::Mul(next, hn::Mul(order, inverse)));
    }
    const auto is_usual = hn::And(hn::And(hn::Gt(s, one), hn::Lt(s, set(d, 1000))),
                                  hn::And(hn::Gt(q, hn::Zero(d)), hn::Lt(q, set(d, kInf<D>))));
    return with_scalar_of(d, hn::Not(is_usual), fma(d, power(at), rest, sum), zeta<T<D>>, s, q);
  }
};

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
