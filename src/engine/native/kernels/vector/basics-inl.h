// Building blocks of the functions of vectors. Included once for each instruction set, outside of
// Highway's namespaces.
//
// All arithmetic follows IEEE 754, so every instruction set gives the same bits. Products are fused
// with sums only by `fma`, which is exact everywhere, and never by the compiler (the files are
// compiled with -ffp-contract=off).
#if defined(FARCALL_VECTOR_BASICS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FARCALL_VECTOR_BASICS_INL_H
#undef FARCALL_VECTOR_BASICS_INL_H
#else
#define FARCALL_VECTOR_BASICS_INL_H
#endif

#include <bit>
#include <cmath>
#include <limits>

#include <hwy/highway.h>

#include "engine/native/kernels/clusters/fused.h"
#include "engine/native/kernels/vector/coefficients.h"

// The namespace of the vector functions: Highway's, unless another one with the same functions is
// defined.
#ifndef FARCALL_VECTORS
#define FARCALL_VECTORS hwy::HWY_NAMESPACE
#define FARCALL_HAS_SCALEF (HWY_TARGET == HWY_AVX3)
// Whether Max and Min give their second operand if one of them is NaN.
#define FARCALL_MAX_OF_X86 (HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128)
#define FARCALL_HAS_FMA (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64)
#endif

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

namespace hn = FARCALL_VECTORS;

template <class D>
using V = hn::Vec<D>;
template <class D>
using T = hn::TFromD<D>;
template <class D>
using Coefficient = Coefficients<T<D>>;

template <class D>
using Unsigned = hn::RebindToUnsigned<D>;

template <class D>
inline constexpr int kMantissaBits = std::numeric_limits<T<D>>::digits - 1;
template <class D>
inline constexpr int kBias = std::numeric_limits<T<D>>::max_exponent - 1;
template <class D>
inline constexpr T<D> kInf = std::numeric_limits<T<D>>::infinity();
// For |x| < kRounder / 2, the lowest bits of x + kRounder are x rounded to an integer.
template <class D>
inline constexpr T<D> kRounder = sizeof(T<D>) == 4 ? T<D>(0x1.8p23) : T<D>(0x1.8p52);

template <class D>
HWY_INLINE V<D> fma(D d, V<D> a, V<D> b, V<D> c) {
#if FARCALL_HAS_FMA
  static_cast<void>(d);
  return hn::MulAdd(a, b, c);
#else
  HWY_ALIGN T<D> x[hn::MaxLanes(d)], y[hn::MaxLanes(d)], z[hn::MaxLanes(d)];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (size_t i = 0; i < hn::MaxLanes(d); ++i) x[i] = fused(x[i], y[i], z[i]);
  return hn::Load(d, x);
#endif
}
// c - a b
template <class D>
HWY_INLINE V<D> nfma(D d, V<D> a, V<D> b, V<D> c) {
#if FARCALL_HAS_FMA
  static_cast<void>(d);
  return hn::NegMulAdd(a, b, c);
#else
  return fma(d, hn::Neg(a), b, c);
#endif
}

template <class D>
HWY_INLINE V<D> set(D d, T<D> value) {
  return hn::Set(d, value);
}

// Evaluates by Horner's rule; coefficients[kFirst] is the constant.
template <size_t kFirst = 0, class D, size_t kSize>
HWY_INLINE V<D> polynomial(D d, V<D> x, const T<D> (&coefficients)[kSize]) {
  const V<D> first = set(d, coefficients[kFirst]);
  if constexpr (kFirst + 1 == kSize) {
    return first;
  } else {
    return fma(d, polynomial<kFirst + 1>(d, x, coefficients), x, first);
  }
}

// x, plus y where the mask is set.
template <class D>
HWY_INLINE V<D> add_where(D, hn::Mask<D> mask, V<D> x, V<D> y) {
#if defined(FARCALL_CAN_SCALE)
  return hn::add_where(mask, x, y);
#else
  return hn::IfThenElse(mask, hn::Add(x, y), x);
#endif
}

// 2^k for integers k in the exponent range of normal numbers.
template <class D>
HWY_INLINE V<D> power_of_two(D d, V<D> k) {
  const Unsigned<D> du;
  const auto bits = hn::BitCast(du, hn::Add(k, set(d, kRounder<D> + kBias<D>)));
  return hn::BitCast(d, hn::ShiftLeft<kMantissaBits<D>>(bits));
}

// x 2^k for integers k, rounded once, including subnormal results, which take long.
template <class D>
HWY_INLINE V<D> scale_slowly(D d, V<D> x, V<D> k) {
#if FARCALL_HAS_SCALEF
  if constexpr (sizeof(V<D>) == sizeof(__m512)) {
    if constexpr (sizeof(T<D>) == 4) return V<D>{_mm512_scalef_ps(x.raw, k.raw)};
    if constexpr (sizeof(T<D>) == 8) return V<D>{_mm512_scalef_pd(x.raw, k.raw)};
  }
#elif defined(FARCALL_CAN_SCALE)
  if (FARCALL_CAN_SCALE()) return hn::scaled(x, k);
#endif
  const V<D> half =
      hn::Sub(hn::Add(hn::Mul(k, set(d, 0.5)), set(d, kRounder<D>)), set(d, kRounder<D>));
  return hn::Mul(hn::Mul(x, power_of_two(d, half)), power_of_two(d, hn::Sub(k, half)));
}

// The same for 0 <= x < 2 and 2^k of at least a quarter of the least number. Many processors
// take a hundred times as long for subnormal results, so most of these are computed as integers:
// how many times the least number they are.
template <class D>
HWY_INLINE V<D> scale(D d, V<D> x, V<D> k) {
#if defined(FARCALL_CAN_SCALE)
  if (hn::scales_fast()) return hn::scaled(x, k);
#endif
  const Unsigned<D> du;
  const auto is_low = hn::Lt(k, set(d, 1 - kBias<D>));
  const V<D> units = set(d, kBias<D> - 1 + kMantissaBits<D>);  // 2^-units is the least number
  const V<D> scaled = scale_slowly(d, x, add_where(d, is_low, k, units));
  // A sum with this number has the bits of the number plus the integer.
  constexpr auto kInteger = static_cast<T<D>>(uint64_t{1} << kMantissaBits<D>);
  constexpr auto kBits = std::bit_cast<hn::TFromD<Unsigned<D>>>(kInteger);
  const auto bits = hn::BitCast(du, add_where(d, is_low, scaled, set(d, kInteger)));
  const auto less = hn::Set(du, 0 - kBits);
  return hn::BitCast(d, add_where(du, hn::RebindMask(du, is_low), bits, less));
}

// Splits a positive normal number into 2^exponent times a fraction in [least, 2 least), where 1/2 <
// least <= 1; `inverse` is 2^-exponent.
template <class D>
struct Split {
  V<D> exponent, fraction, inverse;
};
template <class D>
HWY_INLINE Split<D> split(D d, V<D> x, T<D> least) {
  const Unsigned<D> du;
  using Bits = hn::TFromD<Unsigned<D>>;
  constexpr int kShift = kMantissaBits<D>;
  const Bits one = std::bit_cast<Bits>(T<D>(1));
  const auto bits = hn::BitCast(du, x);
  const auto biased = hn::ShiftRight<kShift>(
      hn::Add(bits, hn::Set(du, static_cast<Bits>(one - std::bit_cast<Bits>(least)))));
  const auto whole = hn::Sub(biased, hn::Set(du, Bits(kBias<D>)));
  // Converts `biased` to floating point: the number biased + 2^mantissa, minus 2^mantissa below.
  const T<D> offset = std::bit_cast<T<D>>(static_cast<Bits>(Bits(kBias<D> + kShift) << kShift));
  const auto as_float = hn::BitCast(d, hn::Or(biased, hn::Set(du, std::bit_cast<Bits>(offset))));
  const auto inverse = hn::ShiftLeft<kShift>(hn::Sub(hn::Set(du, 2 * Bits(kBias<D>)), biased));
  return {hn::Sub(as_float, set(d, offset + kBias<D>)),
          hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<kShift>(whole))), hn::BitCast(d, inverse)};
}

// The rounding error of sum = a + b (D. Knuth, The Art of Computer Programming, 4.2.2).
template <class D>
HWY_INLINE V<D> error_of_sum(V<D> a, V<D> b, V<D> sum) {
  const V<D> virtual_b = hn::Sub(sum, a);
  return hn::Add(hn::Sub(a, hn::Sub(sum, virtual_b)), hn::Sub(b, virtual_b));
}

template <class D>
HWY_INLINE V<D> nan_where(D d, hn::Mask<D> mask, V<D> x) {
  return hn::IfThenElse(mask, set(d, std::numeric_limits<T<D>>::quiet_NaN()), x);
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
