// Exponentials and logarithms of vectors. Arguments are reduced as in W. Cody and W. Waite,
// "Software Manual for the Elementary Functions" (1980). log uses the series of 2 atanh(s), s = f /
// (2 + f).
#if defined(FARCALL_VECTOR_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FARCALL_VECTOR_EXP_INL_H
#undef FARCALL_VECTOR_EXP_INL_H
#else
#define FARCALL_VECTOR_EXP_INL_H
#endif

#include <iterator>
#include <limits>
#include <numbers>

#include "engine/native/kernels/vector/basics-inl.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

// ---- exponentials

// x = k log 2 + r, where k is an integer and |r| <= log(2) / 2.
template <class D>
struct ExpArgument {
  V<D> k, r;
};
template <class D>
HWY_INLINE V<D> rounded_product(D d, V<D> x, T<D> factor) {
  const V<D> rounder = set(d, kRounder<D>);
  return hn::Sub(fma(d, x, set(d, factor), rounder), rounder);
}
template <class D>
HWY_INLINE ExpArgument<D> reduce_exp(D d, V<D> x) {
  const V<D> k = rounded_product(d, x, Coefficient<D>::kLog2OfE[0]);
  const V<D> r = nfma(d, k, set(d, Coefficient<D>::kLog2[0]), x);
  return {k, nfma(d, k, set(d, Coefficient<D>::kLog2[1]), r)};
}

// (e^r - 1 - r) / r^2 for the r of reduce_exp. With few coefficients, fewer operations wait for
// each other than by Horner's rule (G. Estrin, 1960).
template <class D>
HWY_INLINE V<D> exp_rest(D d, V<D> r, V<D> square) {
  const auto& c = Coefficient<D>::kExp;
  if constexpr (std::size(c) == 5) {
    const V<D> low = fma(d, set(d, c[1]), r, set(d, c[0]));
    const V<D> middle = fma(d, set(d, c[3]), r, set(d, c[2]));
    return fma(d, fma(d, set(d, c[4]), square, middle), square, low);
  } else {
    return polynomial(d, r, c);
  }
}

// e^r - 1 for the r of reduce_exp; `rest` is a small correction of r.
template <class D>
HWY_INLINE V<D> small_expm1(D d, V<D> r) {
  const V<D> square = hn::Mul(r, r);
  return fma(d, square, exp_rest(d, r, square), r);
}
template <class D>
HWY_INLINE V<D> small_expm1(D d, V<D> r, V<D> rest) {
  const V<D> square = hn::Mul(r, r);
  return hn::Add(r, fma(d, square, exp_rest(d, r, square), rest));
}

// The same with one operation more, of which fewer wait for each other.
template <class D>
HWY_INLINE V<D> small_expm1_soon(D d, V<D> r) {
  const auto& c = Coefficient<D>::kExp;
  if constexpr (std::size(c) != 5) return small_expm1(d, r);
  const V<D> square = hn::Mul(r, r);
  const V<D> low = fma(d, set(d, c[1]), r, set(d, c[0]));
  const V<D> middle = fma(d, set(d, c[3]), r, set(d, c[2]));
  const V<D> high = fma(d, set(d, c[4]), square, middle);
  return fma(d, hn::Mul(square, square), high, fma(d, square, low, r));
}

// The greater (less) of a limit and x, which may be NaN and then stays.
template <class D>
HWY_INLINE V<D> at_least(D d, V<D> x, T<D> limit) {
  const V<D> least = set(d, limit);
#if FARCALL_MAX_OF_X86
  return hn::Max(least, x);
#else
  return hn::IfThenElse(hn::Lt(x, least), least, x);
#endif
}
template <class D>
HWY_INLINE V<D> at_most(D d, V<D> x, T<D> limit) {
  const V<D> most = set(d, limit);
#if FARCALL_MAX_OF_X86
  return hn::Min(most, x);
#else
  return hn::IfThenElse(hn::Lt(most, x), most, x);
#endif
}
template <class D>
HWY_INLINE V<D> clamp(D d, V<D> x, T<D> low, T<D> high) {
  return at_most(d, at_least(d, x, low), high);
}

// Below kExpLow, e^x is 0; above kExpHigh, it is infinite.
template <class D>
inline constexpr T<D> kExpLow = sizeof(T<D>) == 4 ? T<D>(-105) : T<D>(-746);
template <class D>
inline constexpr T<D> kExpHigh = sizeof(T<D>) == 4 ? T<D>(88.9) : T<D>(709.9);

template <class D>
HWY_INLINE V<D> exp_of(D d, V<D> x) {
  const ExpArgument<D> a = reduce_exp(d, clamp(d, x, kExpLow<D>, kExpHigh<D>));
  return scale(d, hn::Add(set(d, 1), small_expm1(d, a.r)), a.k);
}
struct Exp {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    return exp_of(d, x);
  }
};

template <class D>
HWY_INLINE V<D> exp2_of(D d, V<D> x_in) {
  constexpr T<D> kLow = sizeof(T<D>) == 4 ? -151 : -1076, kHigh = kBias<D> + 1;
  const V<D> x = clamp(d, x_in, kLow, kHigh);
  const V<D> rounder = set(d, kRounder<D>);
  const V<D> k = hn::Sub(hn::Add(x, rounder), rounder), rest = hn::Sub(x, k);
  const V<D> log2 = set(d, Coefficient<D>::kLog2[0]);
  const V<D> r = hn::Mul(rest, log2);
  const V<D> low = fma(d, rest, set(d, Coefficient<D>::kLog2[1]), fma(d, rest, log2, hn::Neg(r)));
  return scale(d, hn::Add(set(d, 1), small_expm1(d, r, low)), k);
}
struct Exp2 {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    return exp2_of(d, x);
  }
};

// e^x - 1 = 2 (h (e^r - 1) + (h - 1/2)) with h = 2^(k - 1), which is finite for all k. Loses the
// sign of zero.
template <class D>
HWY_INLINE V<D> expm1_between(D d, V<D> x) {
  const ExpArgument<D> a = reduce_exp(d, x);
  const V<D> h = power_of_two(d, hn::Sub(a.k, set(d, 1)));
  const V<D> half = fma(d, h, small_expm1(d, a.r), hn::Sub(h, set(d, 0.5)));
  // For k = 0 the formula would round half of a subnormal number.
  return hn::IfThenElse(hn::Eq(a.k, hn::Zero(d)), small_expm1(d, a.r), hn::Add(half, half));
}
// Below, e^x - 1 is -1.
template <class D>
inline constexpr T<D> kExpm1Low = sizeof(T<D>) == 4 ? T<D>(-20) : T<D>(-44);

struct Expm1 {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    return hn::CopySign(expm1_between(d, clamp(d, x, kExpm1Low<D>, kExpHigh<D>)), x);
  }
};

// With e = e^(-2|x|) - 1: -e / (2 + e).
struct Tanh {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const V<D> negative = at_least(d, hn::Or(x, hn::SignBit(d)), kExpm1Low<D> / 2);
    const V<D> doubled = hn::Add(negative, negative);
    const V<D> k = rounded_product(d, negative, 2 * Coefficient<D>::kLog2OfE[0]);
    // The error of log(2) counts 2^k times in e.
    const V<D> r = nfma(d, k, set(d, Coefficient<D>::kLog2[0]), doubled);
    const V<D> power = power_of_two(d, k);
    const V<D> factor = small_expm1_soon(d, r), one = set(d, 1);
    const V<D> e = fma(d, power, factor, hn::Sub(power, one));
    return hn::Div(hn::CopySign(e, x), fma(d, power, factor, hn::Add(power, one)));
  }
};

struct Logistic {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    // Below, e^x is subnormal, and the quotient is e^x.
    constexpr T<D> kLow = sizeof(T<D>) == 4 ? T<D>(-87.33) : T<D>(-708.39);
    const V<D> e = exp_of(d, hn::Neg(hn::Abs(x))), one = set(d, 1);
    // A division of or by subnormal numbers would take long.
    const V<D> normal = hn::Max(e, set(d, std::numeric_limits<T<D>>::min()));
    const V<D> above = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), normal, one);
    const V<D> quotient = hn::Div(above, hn::Add(one, normal));
    const V<D> value = hn::IfThenElse(hn::Lt(x, set(d, kLow)), e, quotient);
    return hn::IfThenElse(hn::IsNaN(x), x, value);
  }
};

// With |x| = k log 2 + r: up = 2^k / 4, down = 2^-k / 4, sinh r, and cosh r - 1.
template <class D>
struct Hyperbolic {
  V<D> up, down, sinh, cosh_less_one;

  Hyperbolic(D d, V<D> magnitude) {
    // Above kHigh, sinh and cosh are infinite.
    constexpr T<D> kHigh = sizeof(T<D>) == 4 ? T<D>(89.5) : T<D>(710.6);
    const ExpArgument<D> a = reduce_exp(d, hn::Min(magnitude, set(d, kHigh)));
    const V<D> two = set(d, 2);
    up = power_of_two(d, hn::Sub(a.k, two));
    // Clamped to a normal number; it is negligible long before.
    down = power_of_two(d, hn::Max(hn::Sub(hn::Neg(a.k), two), set(d, 3 - kBias<D>)));
    const V<D> square = hn::Mul(a.r, a.r);
    sinh = fma(d, hn::Mul(square, polynomial(d, square, Coefficient<D>::kSinh)), a.r, a.r);
    cosh_less_one =
        hn::Mul(square, fma(d, square, polynomial(d, square, Coefficient<D>::kCosh), set(d, 0.5)));
  }
};

struct Sinh {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const V<D> magnitude = hn::Abs(x);
    const Hyperbolic<D> h(d, magnitude);
    const V<D> sum = hn::Add(h.up, h.down), difference = hn::Sub(h.up, h.down);
    const V<D> rest = fma(d, difference, h.cosh_less_one, hn::Mul(sum, h.sinh));
    const V<D> half = hn::Add(difference, rest);
    // Otherwise half of a subnormal number would be rounded.
    const V<D> value = hn::IfThenElse(hn::Eq(difference, hn::Zero(d)), h.sinh, hn::Add(half, half));
    return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySign(value, x));
  }
};

struct Cosh {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const Hyperbolic<D> h(d, hn::Abs(x));
    const V<D> sum = hn::Add(h.up, h.down), difference = hn::Sub(h.up, h.down);
    const V<D> rest = fma(d, sum, h.cosh_less_one, hn::Mul(difference, h.sinh));
    const V<D> half = hn::Add(sum, rest);
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Add(half, half));
  }
};

// ---- logarithms

// log(1 + f) = high + low.
template <class D>
struct Log1pParts {
  V<D> high, low;

  Log1pParts(D d, V<D> f) {
    const V<D> s = hn::Div(f, hn::Add(set(d, 2), f));
    const V<D> z = hn::Mul(s, s);
    const V<D> half = hn::Mul(set(d, 0.5), f);
    high = nfma(d, half, f, f);
    const V<D> error = nfma(d, half, f, hn::Sub(f, high));
    const V<D> rest = fma(d, z, polynomial(d, z, Coefficient<D>::kLog), hn::Mul(half, f));
    low = fma(d, s, rest, error);
  }
};

// A positive number, which may be subnormal, as 2^exponent (1 + f), where 1 + f is from sqrt(1/2)
// to sqrt(2).
template <class D>
struct LogArgument {
  V<D> exponent, f;

  LogArgument(D d, V<D> x) {
    constexpr T<D> kStep = sizeof(T<D>) == 4 ? 24 : 54;
    const auto is_tiny = hn::Lt(x, set(d, std::numeric_limits<T<D>>::min()));
    const V<D> larger = hn::Mul(x, set(d, sizeof(T<D>) == 4 ? T<D>(0x1p24) : T<D>(0x1p54)));
    const Split<D> parts =
        split(d, hn::IfThenElse(is_tiny, larger, x), std::numbers::sqrt2_v<T<D>> / 2);
    exponent = hn::Sub(parts.exponent, hn::IfThenElseZero(is_tiny, set(d, kStep)));
    f = hn::Sub(parts.fraction, set(d, 1));
  }
};

// exponent log 2 + high + low
template <class D>
HWY_INLINE V<D> natural_log(D d, V<D> exponent, const Log1pParts<D>& log) {
  const V<D> low = fma(d, exponent, set(d, Coefficient<D>::kShortLog2[1]), log.low);
  return fma(d, exponent, set(d, Coefficient<D>::kShortLog2[0]), hn::Add(log.high, low));
}

// The logarithm to another base. `step` is the logarithm of 2 to that base; step_high times an
// exponent is exact. `factor` is the logarithm of e.
template <class D>
HWY_INLINE V<D> log_to_base(D d, const LogArgument<D>& a, V<D> step_high, V<D> step_low,
                            const T<D> (&factor)[2]) {
  const Log1pParts<D> log(d, a.f);
  const V<D> factor_high = set(d, factor[0]), factor_low = set(d, factor[1]);
  const V<D> high = hn::Mul(log.high, factor_high);
  V<D> low = fma(d, log.high, factor_high, hn::Neg(high));
  low = hn::Add(low, fma(d, log.high, factor_low, hn::Mul(log.low, factor_high)));
  low = fma(d, a.exponent, step_low, low);
  const V<D> whole = hn::Mul(a.exponent, step_high);
  const V<D> sum = hn::Add(whole, high);
  return hn::Add(sum, hn::Add(low, error_of_sum<D>(whole, high, sum)));
}

// The values of a logarithm outside of the positive finite numbers.
template <class D>
HWY_INLINE V<D> log_corners(D d, V<D> x, V<D> value) {
  const V<D> zero = hn::Zero(d);
  value = hn::IfThenElse(hn::Eq(x, set(d, kInf<D>)), x, value);
  value = hn::IfThenElse(hn::Eq(x, zero), set(d, -kInf<D>), value);
  value = nan_where(d, hn::Lt(x, zero), value);
  return hn::IfThenElse(hn::IsNaN(x), x, value);
}

struct Log {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const LogArgument<D> a(d, x);
    return log_corners(d, x, natural_log(d, a.exponent, Log1pParts<D>(d, a.f)));
  }
};

template <class D>
HWY_INLINE V<D> log2_of_positive(D d, V<D> x) {
  return log_to_base(d, LogArgument<D>(d, x), set(d, 1), hn::Zero(d), Coefficient<D>::kLog2OfE);
}
struct Log2 {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    return log_corners(d, x, log2_of_positive(d, x));
  }
};

struct Log10 {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const auto& step = Coefficient<D>::kShortLog10Of2;
    return log_corners(d, x,
                       log_to_base(d, LogArgument<D>(d, x), set(d, step[0]), set(d, step[1]),
                                   Coefficient<D>::kLog10OfE));
  }
};

// log(2^doublings (sum + error)), where sum is normal and positive, and error is its rounding
// error.
template <class D>
HWY_INLINE V<D> log_of_sum(D d, V<D> sum, V<D> error, V<D> doublings) {
  const Split<D> parts = split(d, sum, std::numbers::sqrt2_v<T<D>> / 2);
  const auto counts = hn::Lt(sum, set(d, T<D>(0x1p60)));
  const V<D> scaled_error = hn::IfThenElseZero(counts, hn::Mul(error, parts.inverse));
  const V<D> f = hn::Add(hn::Sub(parts.fraction, set(d, 1)), scaled_error);
  return natural_log(d, hn::Add(parts.exponent, doublings), Log1pParts<D>(d, f));
}
// log(1 + x) for x > -1.
template <class D>
HWY_INLINE V<D> log1p_above(D d, V<D> x) {
  const V<D> one = set(d, 1), sum = hn::Add(one, x);
  return log_of_sum(d, sum, error_of_sum<D>(one, x, sum), hn::Zero(d));
}

struct Log1p {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const V<D> value = hn::CopySign(log1p_above(d, x), x);
    return log_corners(d, hn::Add(set(d, 1), x), value);
  }
};

// Above, adding 1 to the square does not change it.
template <class D>
inline constexpr T<D> kLargeSquare = sizeof(T<D>) == 4 ? T<D>(0x1p13) : T<D>(0x1p28);

// log(a + sqrt(a^2 +- 1)) as log1p(t), or as log(2 a) if a is large.
template <class D>
HWY_INLINE V<D> log_of_double(D d, V<D> a, V<D> t) {
  const V<D> one = set(d, 1), sum = hn::Add(one, t);
  const auto is_large = hn::Gt(a, set(d, kLargeSquare<D>));
  const V<D> error = hn::IfThenElse(is_large, hn::Zero(d), error_of_sum<D>(one, t, sum));
  return log_of_sum(d, hn::IfThenElse(is_large, a, sum), error, hn::IfThenElseZero(is_large, one));
}

struct Asinh {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const V<D> a = hn::Abs(x), one = set(d, 1), square = hn::Mul(a, a);
    const V<D> root = hn::Sqrt(hn::Add(square, one));
    const V<D> t = hn::Add(a, hn::Div(square, hn::Add(one, root)));
    const V<D> value = hn::CopySign(log_of_double(d, a, t), x);
    return hn::IfThenElse(hn::Lt(a, set(d, kInf<D>)), value, x);
  }
};

struct Acosh {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const V<D> t = hn::Sub(x, set(d, 1));
    const V<D> root = hn::Sqrt(fma(d, t, t, hn::Add(t, t)));
    const V<D> value = log_of_double(d, x, hn::Add(t, root));
    const V<D> finite = hn::IfThenElse(hn::Lt(x, set(d, kInf<D>)), value, x);
    return nan_where(d, hn::Lt(x, set(d, 1)), finite);
  }
};

// log1p(2 a / (1 - a)) / 2
struct Atanh {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const V<D> a = hn::Abs(x);
    const V<D> t = hn::Div(hn::Add(a, a), hn::Sub(set(d, 1), a));
    const V<D> value = hn::Mul(set(d, 0.5), log1p_above(d, t));
    const V<D> corner = hn::IfThenElse(hn::Eq(a, set(d, 1)), set(d, kInf<D>), value);
    return hn::IfThenElse(hn::IsNaN(x), x,
                          nan_where(d, hn::Gt(a, set(d, 1)), hn::CopySign(corner, x)));
  }
};

// ---- roots

struct Sqrt {
  template <class D>
  HWY_INLINE V<D> operator()(D, V<D> x) const {
    return hn::Sqrt(x);
  }
};
struct Rsqrt {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    return hn::Div(set(d, 1), hn::Sqrt(x));
  }
};

// A polynomial refined by Newton's method; the last residue is computed in twice the precision.
struct Cbrt {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    constexpr bool kIsFloat = sizeof(T<D>) == 4;
    const V<D> a = hn::Abs(x), zero = hn::Zero(d);
    const auto is_tiny = hn::Lt(a, set(d, std::numeric_limits<T<D>>::min()));
    const V<D> larger = hn::Mul(a, set(d, kIsFloat ? T<D>(0x1p24) : T<D>(0x1p54)));
    const Split<D> parts = split(d, hn::IfThenElse(is_tiny, larger, a), 1);
    // floor(exponent / 3). The shift of 1/8 exceeds rounding errors and is less than a third.
    const V<D> third = hn::Floor(fma(d, parts.exponent, set(d, T<D>(1) / 3), set(d, T<D>(0.125))));
    const V<D> rest = nfma(d, third, set(d, 3), parts.exponent);
    const auto is_one = hn::Eq(rest, set(d, 1)), is_two = hn::Eq(rest, set(d, 2));
    V<D> factor = hn::IfThenElse(is_one, set(d, Coefficient<D>::kCubeRoots[0]), set(d, 1));
    factor = hn::IfThenElse(is_two, set(d, Coefficient<D>::kCubeRoots[1]), factor);
    V<D> scaled = hn::IfThenElse(is_one, set(d, 2), set(d, 1));
    scaled = hn::Mul(parts.fraction, hn::IfThenElse(is_two, set(d, 4), scaled));
    V<D> root = hn::Mul(factor, polynomial(d, parts.fraction, Coefficient<D>::kCbrt));
    const V<D> three = set(d, 3);
    if constexpr (!kIsFloat) {
      const V<D> square = hn::Mul(root, root);
      root = hn::Add(root, hn::Div(nfma(d, square, root, scaled), hn::Mul(three, square)));
    }
    const V<D> square = hn::Mul(root, root), low = fma(d, root, root, hn::Neg(square));
    const V<D> residue = nfma(d, low, root, nfma(d, square, root, scaled));
    root = hn::Add(root, hn::Div(residue, hn::Mul(three, square)));
    const V<D> shift = hn::IfThenElseZero(is_tiny, set(d, kIsFloat ? 8 : 18));
    const V<D> value = hn::CopySign(hn::Mul(root, power_of_two(d, hn::Sub(third, shift))), x);
    const auto is_number = hn::And(hn::Gt(a, zero), hn::Lt(a, set(d, kInf<D>)));
    return hn::IfThenElse(is_number, value, x);
  }
};

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
