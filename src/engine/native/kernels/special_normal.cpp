// The error function's relatives, and the sine's.
#include <cmath>
#include <limits>
#include <numbers>

#include <boost/math/special_functions/erf.hpp>

#include "engine/native/kernels/boost_policy.h"
#include "engine/native/kernels/special.h"

namespace farcall::native {
namespace {

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

// 1 - 1 / x^2 + 3 / x^4 - 15 / x^6 ..., less 1: what the normal distribution's tail is beside its
// density / x. For |x| >= 20: Abramowitz and Stegun, 26.2.12.
template <class T>
T tail_series(T x) {
  const T inverse_square = 1 / (x * x);
  T term = 1, sum = 0;
  for (int k = 1; k < 20; ++k) {
    term *= -static_cast<T>(2 * k - 1) * inverse_square;
    sum += term;
  }
  return sum;
}

}  // namespace

template <class T>
T erf_inv(T y) {
  if (!(std::fabs(y) < 1)) return std::fabs(y) == 1 ? std::copysign(kInfinity<T>, y) : kNan<T>;
  return y == 0 ? y : boost::math::erf_inv(y, BoostPolicy());
}

template <class T>
T erfcx(T x) {
  if (x < 20) return std::exp(x * x) * std::erfc(x);
  return (1 + tail_series(x * std::numbers::sqrt2_v<T>)) * std::numbers::inv_sqrtpi_v<T> / x;
}

template <class T>
T ndtr(T x) {
  return std::erfc(-x / std::numbers::sqrt2_v<T>) / 2;
}

template <class T>
T log_ndtr(T x) {
  if (x > -1) return std::log1p(-ndtr(-x));
  if (x > -20) return std::log(ndtr(x));
  constexpr T kHalfLogTwoPi = T(0.918938533204672741780329736405617639861L);
  return -x * x / 2 - (std::log(-x) + kHalfLogTwoPi) + std::log1p(tail_series(x));
}

template <class T>
T ndtri(T p) {
  if (!(p >= 0 && p <= 1)) return kNan<T>;
  if (p == 0 || p == 1) return p == 0 ? -kInfinity<T> : kInfinity<T>;
  return 0 - std::numbers::sqrt2_v<T> * boost::math::erfc_inv(2 * p, BoostPolicy());
}

// Near a half, where the quotient's logarithm is near 0, from how far the quotient is from 1.
template <class T>
T logit(T x) {
  if (x < T(0.25)) return std::log(x) - std::log1p(-x);
  return std::log1p((2 * x - 1) / (1 - x));
}

// Whole turns are taken off; what is left is at most half of one, and the sign of zero stays.
template <class T>
T sin_pi(T x) {
  if (!(std::fabs(x) < kInfinity<T>)) return kNan<T>;
  T rest = std::fmod(x, T(2));
  if (std::fabs(rest) > T(0.5) && std::fabs(rest) < T(1.5)) {
    rest = std::copysign(T(1), rest) - rest;  // sin(pi - y) = sin(y)
  } else if (std::fabs(rest) >= T(1.5)) {
    rest -= std::copysign(T(2), rest);
  }
  return rest == 0 ? std::copysign(T(0), x) : std::sin(std::numbers::pi_v<T> * rest);
}

template <class T>
T cos_pi(T x) {
  if (!(std::fabs(x) < kInfinity<T>)) return kNan<T>;
  const T rest = std::fmod(std::fabs(x), T(2));
  const T nearest = rest > 1 ? 2 - rest : rest;  // from 0 to 1, by cos(2 pi - y) = cos(y)
  if (nearest < T(0.25)) return std::cos(std::numbers::pi_v<T> * nearest);
  if (nearest > T(0.75)) return -std::cos(std::numbers::pi_v<T> * (1 - nearest));
  return std::sin(std::numbers::pi_v<T> * (T(0.5) - nearest));
}

#define FARCALL_INSTANTIATE(T) \
  template T erf_inv<T>(T);    \
  template T sin_pi<T>(T);     \
  template T cos_pi<T>(T);     \
  template T erfcx<T>(T);      \
  template T ndtr<T>(T);       \
  template T log_ndtr<T>(T);   \
  template T ndtri<T>(T);      \
  template T logit<T>(T);
FARCALL_INSTANTIATE(double)
FARCALL_INSTANTIATE(long double)
#undef FARCALL_INSTANTIATE

}  // namespace farcall::native
