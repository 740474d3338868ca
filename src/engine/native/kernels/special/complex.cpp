// Complex functions that <complex> lacks, or has with other special values.
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/native/kernels/special/special.h"

namespace farcall::native {
namespace {

template <class T>
bool is_finite(std::complex<T> z) {
  return std::isfinite(z.real()) && std::isfinite(z.imag());
}

// ln 2 - ln2_v<T>, by the number of digits of T.
template <class T, int digits = std::numeric_limits<T>::digits>
inline constexpr T kRestOfLn2 = T(-7.008139474549585163412662e-36L);
template <class T>
inline constexpr T kRestOfLn2<T, 64> = T(-1.14583527267987328109353e-20L);
template <class T>
inline constexpr T kRestOfLn2<T, 53> = T(2.319046813846299615494855e-17L);

}  // namespace

// The angle y ln 2 is a sum of two numbers. Rounded to one, it would lose its value near the zeros
// of sine and cosine.
template <class T>
std::complex<T> complex_exp2(std::complex<T> z) {
  constexpr T kLn2 = std::numbers::ln2_v<T>;
  const T x = z.real(), y = z.imag();
  if (!is_finite(z)) return std::exp(std::complex<T>(x * kLn2, y * kLn2));
  const T angle = y * kLn2;
  const T rest = std::fma(y, kLn2, -angle) + y * kRestOfLn2<T>;
  const T sine = std::sin(angle), cosine = std::cos(angle), length = std::exp2(x);
  // The rest of a large angle is not small.
  const bool is_small = std::fabs(rest) < std::sqrt(std::numeric_limits<T>::epsilon()) / 2;
  const T rest_sine = is_small ? rest : std::sin(rest), rest_cosine = is_small ? 1 : std::cos(rest);
  return {length * (cosine * rest_cosine - sine * rest_sine),
          length * (sine * rest_cosine + cosine * rest_sine)};
}

template <class T>
std::complex<T> complex_expm1(std::complex<T> z) {
  const T x = z.real(), y = z.imag();
  if (y == 0) return {std::expm1(x), y};
  if (!is_finite(z)) {
    const std::complex<T> e = std::exp(z);
    return {e.real() - 1, e.imag()};
  }
  const T half_sine = std::sin(y / 2);
  return {std::expm1(x) * std::cos(y) - 2 * half_sine * half_sine, std::exp(x) * std::sin(y)};
}

template <class T>
std::complex<T> complex_log1p(std::complex<T> z) {
  const T x = z.real(), y = z.imag();
  if (!is_finite(z)) return std::log(std::complex<T>(x + 1, y));
  const T angle = std::atan2(y, x + 1);
  // |1 + z|^2 - 1 loses no digits for small z; for others hypot does not overflow.
  if (std::fabs(x) < 3 && std::fabs(y) < 3) {
    const T excess = x * (2 + x) + y * y;
    if (excess > T(-0.5)) return {std::log1p(excess) / 2, angle};
  }
  return {std::log(std::hypot(x + 1, y)), angle};
}

template <class T>
std::complex<T> complex_logistic(std::complex<T> z) {
  const T one = 1;
  if (z.real() < 0) {
    const std::complex<T> e = std::exp(z);
    return e / (one + e);
  }
  return one / (one + std::exp(-z));
}

template <class T>
std::complex<T> complex_rsqrt(std::complex<T> z) {
  return T(1) / std::sqrt(z);
}

template <class T>
std::complex<T> complex_sign(std::complex<T> z) {
  if (z == T(0)) return z;
  const T length = std::hypot(z.real(), z.imag());
  return length == length ? z / length : std::complex<T>(length, length);
}

// exp(exponent * log(base)). A real exponent multiplies both parts, so that infinities and zeros
// are kept.
template <class T>
std::complex<T> complex_pow(std::complex<T> base, std::complex<T> exponent) {
  if (exponent == T(0)) return 1;
  if (base == T(0)) {
    if (exponent.imag() == 0 && exponent.real() > 0) return 0;
    return {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::quiet_NaN()};
  }
  const std::complex<T> logarithm = std::log(base);
  return std::exp(exponent.imag() == 0 ? logarithm * exponent.real() : logarithm * exponent);
}

#define FARCALL_INSTANTIATE(T)                                   \
  template std::complex<T> complex_exp2<T>(std::complex<T>);     \
  template std::complex<T> complex_expm1<T>(std::complex<T>);    \
  template std::complex<T> complex_log1p<T>(std::complex<T>);    \
  template std::complex<T> complex_logistic<T>(std::complex<T>); \
  template std::complex<T> complex_rsqrt<T>(std::complex<T>);    \
  template std::complex<T> complex_sign<T>(std::complex<T>);     \
  template std::complex<T> complex_pow<T>(std::complex<T>, std::complex<T>);
FARCALL_INSTANTIATE(double)
FARCALL_INSTANTIATE(long double)
#undef FARCALL_INSTANTIATE

}  // namespace farcall::native
