// The error function, its complement and its inverse, of vectors.
#if defined(FARCALL_VECTOR_ERF_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FARCALL_VECTOR_ERF_INL_H
#undef FARCALL_VECTOR_ERF_INL_H
#else
#define FARCALL_VECTOR_ERF_INL_H
#endif

#include "engine/native/kernels/vector/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

// Below kErfSmall, erf is a polynomial. Above, erfc is e^(-a^2) / (1 + 2 a) times a polynomial of
// (a - c) / (a + c): M. Shepherd and J. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2)
// erfc x in 0 <= x < inf" (Mathematics of Computation, 1981).
template <class D>
inline constexpr T<D> kErfSmall = T<D>(0.4765625);

template <class D>
HWY_INLINE V<D> small_erf(D d, V<D> x) {
  return fma(d, x, polynomial(d, hn::Mul(x, x), Coefficient<D>::kErf), x);
}

// From here on, erf is 1, and erfc is 0.
template <class D>
inline constexpr T<D> kErfEnd = sizeof(T<D>) == 4 ? T<D>(4) : T<D>(6);
template <class D>
inline constexpr T<D> kErfcEnd = sizeof(T<D>) == 4 ? T<D>(10.25) : T<D>(27.375);

// value 2^k
template <class D>
struct Scaled {
  V<D> value, k;
};

// erfc(a) for a >= kErfSmall; `square` plus `rest` is a^2, `divisor` is 1 + 2 a.
template <class D>
HWY_INLINE Scaled<D> erfc_of_square(D d, V<D> a, V<D> square, V<D> rest, V<D> divisor) {
  const V<D> one = set(d, 1), center = set(d, Coefficient<D>::kErfcCenter[0]);
  const ExpArgument<D> e = reduce_exp(d, hn::Neg(square));
  const V<D> less_one = small_expm1(d, e.r);
  const V<D> power = hn::Add(one, nfma(d, rest, hn::Add(one, less_one), less_one));
  const V<D> t = hn::Div(hn::Sub(a, center), hn::Add(a, center));
  const V<D> factor = hn::Div(polynomial(d, t, Coefficient<D>::kErfc), divisor);
  return {hn::Mul(power, factor), e.k};
}

// For a >= kErfSmall; numbers above `end` count as `end`.
template <class D>
HWY_INLINE V<D> large_erfc(D d, V<D> magnitude, T<D> end) {
  const V<D> a = hn::Min(magnitude, set(d, end)), square = hn::Mul(a, a);
  const V<D> rest = fma(d, a, a, hn::Neg(square)), divisor = fma(d, set(d, 2), a, set(d, 1));
  const Scaled<D> made = erfc_of_square(d, a, square, rest, divisor);
  return scale(d, made.value, made.k);
}

// 1 - erfc(a) for a >= kErfSmall. For float, erfc(a) is the exponential of a polynomial.
template <class D>
HWY_INLINE V<D> large_erf(D d, V<D> magnitude) {
  if constexpr (sizeof(T<D>) == 4) {
    const V<D> a = hn::Min(magnitude, set(d, kErfEnd<D>));
    const V<D> factor = polynomial(d, hn::Sub(a, set(d, 2)), Coefficient<D>::kErfExponent);
    const ExpArgument<D> e = reduce_exp(d, hn::Neg(hn::Mul(a, factor)));
    const V<D> power = power_of_two(d, e.k);
    return hn::Sub(hn::Sub(set(d, 1), power), hn::Mul(power, small_expm1(d, e.r)));
  } else {
    return hn::Sub(set(d, 1), large_erfc(d, magnitude, kErfEnd<D>));
  }
}

struct Erf {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const V<D> a = hn::Abs(x);
    const V<D> large = hn::CopySign(large_erf(d, a), x);
    const V<D> value = hn::IfThenElse(hn::Lt(a, set(d, kErfSmall<D>)), small_erf(d, x), large);
    return hn::IfThenElse(hn::IsNaN(x), x, value);
  }
};

struct Erfc {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const V<D> a = hn::Abs(x), tail = large_erfc(d, a, kErfcEnd<D>);
    const V<D> large = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Sub(set(d, 2), tail), tail);
    const V<D> small = hn::Sub(set(d, 1), small_erf(d, x));
    const V<D> value = hn::IfThenElse(hn::Lt(a, set(d, kErfSmall<D>)), small, large);
    return hn::IfThenElse(hn::IsNaN(x), x, value);
  }
};

// ndtr(x) = erfc(-x / sqrt(2)) / 2. The exponential is that of x^2 / 2: the rounding of x / sqrt(2)
// would cost small results half of their digits.
struct Ndtr {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    constexpr auto kRootOfHalf = T<D>(std::numbers::sqrt2 / 2);
    const V<D> half = set(d, 0.5), root = set(d, kRootOfHalf);
    const V<D> magnitude = hn::Min(hn::Abs(x), set(d, kErfcEnd<D> / kRootOfHalf));
    const V<D> square = hn::Mul(magnitude, magnitude);
    const V<D> rest = fma(d, magnitude, magnitude, hn::Neg(square));
    const V<D> a = hn::Mul(magnitude, root);
    constexpr auto kRoot = T<D>(std::numbers::sqrt2);
    constexpr auto kRestOfRoot =  // sqrt(2) - kRoot
        sizeof(T<D>) == 4 ? T<D>(0x1.9fcef4p-26) : T<D>(-0x1.bdd3413b26456p-54);
    const V<D> divisor =
        fma(d, set(d, kRoot), magnitude, fma(d, set(d, kRestOfRoot), magnitude, set(d, 1)));
    const Scaled<D> erfc =
        erfc_of_square(d, a, hn::Mul(square, half), hn::Mul(rest, half), divisor);
    const V<D> tail = scale(d, hn::Mul(erfc.value, half), erfc.k);
    const V<D> large = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(set(d, 1), tail));
    const V<D> small = fma(d, half, small_erf(d, hn::Mul(x, root)), half);
    const V<D> value = hn::IfThenElse(hn::Lt(a, set(d, kErfSmall<D>)), small, large);
    return hn::IfThenElse(hn::IsNaN(x), x, value);
  }
};

// erf_inv(x) / x for w = -log(1 - x^2) < 16, whose square root is `root`; for float. M. Giles,
// "Approximating the erfinv function" (GPU Computing Gems, 2011).
template <class D>
HWY_INLINE V<D> erf_inv_factor(D d, V<D> w, V<D> root) {
  const V<D> center = polynomial(d, hn::Sub(w, set(d, 2.5)), Coefficient<D>::kErfInvCenter);
  const V<D> tail = polynomial(d, hn::Sub(root, set(d, 3)), Coefficient<D>::kErfInvTail);
  return hn::IfThenElse(hn::Lt(w, set(d, 5)), center, tail);
}

struct ErfInv {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const V<D> one = set(d, 1), a = hn::Abs(x);
    const LogArgument<D> argument(d, nfma(d, x, x, one));
    const V<D> w = hn::Neg(natural_log(d, argument.exponent, Log1pParts<D>(d, argument.f)));
    const V<D> value = hn::Mul(x, erf_inv_factor(d, w, hn::Sqrt(w)));
    const V<D> at_end = hn::IfThenElse(hn::Eq(a, one), hn::CopySign(set(d, kInf<D>), x), value);
    return hn::IfThenElse(hn::IsNaN(x), x, nan_where(d, hn::Gt(a, one), at_end));
  }
};

// The coefficients of float for vectors of doubles.
template <size_t kSize>
struct InDouble {
  double values[kSize];

  constexpr explicit InDouble(const float (&from)[kSize]) : values() {
    for (size_t i = 0; i < kSize; ++i) values[i] = from[i];
  }
};

// erf_inv(a) for 0 <= a = 1 - q < 1 with q > 2^-150, in double: of the approximation for float, one
// step of Halley's method, which leaves the cube of its error.
template <class D>
HWY_INLINE V<D> refined_erf_inv(D d, V<D> a, V<D> q) {
  static constexpr InDouble kCenter(Coefficients<float>::kErfInvCenter);
  static constexpr InDouble kTail(Coefficients<float>::kErfInvTail);
  static constexpr InDouble kFar(Coefficients<float>::kErfInvFar);
  const V<D> one = set(d, 1);
  const LogArgument<D> argument(d, hn::Mul(q, hn::Add(one, a)));
  const V<D> log = natural_log(d, argument.exponent, Log1pParts<D>(d, argument.f));
  const V<D> w = hn::Max(hn::Neg(log), hn::Zero(d)), root = hn::Sqrt(w);
  const V<D> center = polynomial(d, hn::Sub(w, set(d, 2.5)), kCenter.values);
  const V<D> tail = polynomial(d, hn::Sub(root, set(d, 3)), kTail.values);
  const V<D> far = polynomial(d, hn::Sub(root, set(d, 7)), kFar.values);
  const V<D> outer = hn::IfThenElse(hn::Lt(w, set(d, 16)), tail, far);
  const V<D> y = hn::Mul(a, hn::IfThenElse(hn::Lt(w, set(d, 5)), center, outer));
  // erf(y) - a, from whichever of erf and erfc is smaller.
  const V<D> difference =
      hn::IfThenElse(hn::Lt(a, set(d, 0.5)), hn::Sub(Erf()(d, y), a), hn::Sub(q, Erfc()(d, y)));
  const V<D> slope =
      hn::Mul(set(d, 2 * std::numbers::inv_sqrtpi), exp_of(d, hn::Neg(hn::Mul(y, y))));
  const V<D> step = hn::Div(difference, slope);
  return hn::Sub(y, hn::Div(step, fma(d, y, step, one)));
}

struct ErfInvInDouble {
  template <class D>
  HWY_INLINE V<D> operator()(D d, V<D> x) const {
    const V<D> one = set(d, 1), a = hn::Abs(x);
    const V<D> value = hn::CopySign(refined_erf_inv(d, a, hn::Sub(one, a)), x);
    const V<D> at_end = hn::IfThenElse(hn::Eq(a, one), hn::CopySign(set(d, kInf<D>), x), value);
    return hn::IfThenElse(hn::IsNaN(x), x, nan_where(d, hn::Gt(a, one), at_end));
  }
};

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
