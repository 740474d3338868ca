// Functions related to the error function and the sine.
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include <boost/math/special_functions/erf.hpp>

#include "engine/native/kernels/special/boost_policy.h"
#include "engine/native/kernels/special/special.h"

namespace farcall::native {
namespace {

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

// The series -1 / x^2 + 3 / x^4 - 15 / x^6 + ...: one plus it is the normal distribution's tail
// divided by density / x. For |x| >= 20: Abramowitz and Stegun, 26.2.12.
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

double rational(double x, const std::array<double, 8>& above, const std::array<double, 8>& below) {
  double numerator = 0, denominator = 0;
  for (size_t i = 8; i-- > 0;) {
    numerator = numerator * x + above[i];
    denominator = denominator * x + below[i];
  }
  return numerator / denominator;
}

// The quantile of the normal distribution at p, where q is p - 1/2 and tail is min(p, 1 - p). Gives
// an infinity for a tail of zero. Relative error 1e-16. M. Wichura, "Algorithm AS 241: The
// percentage points of the normal distribution" (Applied Statistics, 1988), PPND16.
double normal_quantile(double q, double tail) {
  if (std::fabs(q) <= 0.425) {
    return q * rational(0.180625 - q * q,
                        {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                         1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                         3.3430575583588128105e4, 2.5090809287301226727e3},
                        {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2,
                         5.3941960214247511077e3, 2.1213794301586595867e4, 3.9307895800092710610e4,
                         2.8729085735721942674e4, 5.2264952788528545610e3});
  }
  if (tail == 0) return std::copysign(kInfinity<double>, q);
  const double r = std::sqrt(-std::log(tail));
  const double x =
      r <= 5 ? rational(
                   r - 1.6,
                   {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                    3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                    2.27238449892691845833e-2, 7.74545014278341407640e-4},
                   {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
                    6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
                    5.47593808499534494600e-4, 1.05075007164441684324e-9})
             : rational(
                   r - 5,
                   {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
                    2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                    2.71155556874348757815e-5, 2.01033439929228813265e-7},
                   {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
                    1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                    1.42151175831644588870e-7, 2.04426310338993978564e-15});
  return std::copysign(x, q);
}

}  // namespace

// For double, in which narrower types are computed: faster than the general algorithm.
template <>
double erf_inv(double y) {
  if (!(std::fabs(y) <= 1)) return kNan<double>;
  return normal_quantile(y / 2, (1 - std::fabs(y)) / 2) / std::numbers::sqrt2;
}

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

template <>
double ndtri(double p) {
  if (!(p >= 0 && p <= 1)) return kNan<double>;
  return normal_quantile(p - 0.5, p < 0.5 ? p : 1 - p);
}

template <class T>
T ndtri(T p) {
  if (!(p >= 0 && p <= 1)) return kNan<T>;
  if (p == 0 || p == 1) return p == 0 ? -kInfinity<T> : kInfinity<T>;
  return 0 - std::numbers::sqrt2_v<T> * boost::math::erfc_inv(2 * p, BoostPolicy());
}

// Near 1/2 the logarithm of x / (1 - x) is near 0: computes it from the quotient less 1.
template <class T>
T logit(T x) {
  if (x < T(0.25)) return std::log(x) - std::log1p(-x);
  return std::log1p((2 * x - 1) / (1 - x));
}

// Reduces x modulo 2, then to |rest| <= 1/2; keeps the sign of zero.
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
