// The incomplete gamma and beta functions.
#include <cmath>
#include <limits>

#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/log1p.hpp>

#include "engine/native/kernels/special/boost_policy.h"
#include "engine/native/kernels/special/special.h"

namespace farcall::native {
namespace {

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
constexpr int kMostTerms = 100000;

// The value of a function of a and its derivative, both divided by x^a e^-x / gamma(a).
template <class T>
struct Scaled {
  T value, slope;
};

// Abramowitz and Stegun, 6.5.29: for x < a + 1, where the terms decrease from the start. The
// logarithm of a term has the derivative -1/a - 1/(a + 1) - ...
template <class T>
Scaled<T> igamma_series(T a, T x) {
  constexpr T kSmall = std::numeric_limits<T>::epsilon() / 16;
  T term = 1 / a, sum = term, log_slope = -term, slope = term * log_slope;
  for (int i = 1; i < kMostTerms && term > sum * kSmall; ++i) {
    term *= x / (a + i);
    log_slope -= 1 / (a + i);
    sum += term;
    slope += term * log_slope;
  }
  return {sum, slope};
}

// Abramowitz and Stegun, 6.5.31: a continued fraction, evaluated forward (Lentz's algorithm), for
// larger x.
template <class T>
Scaled<T> igammac_fraction(T a, T x) {
  constexpr T kTiny = T(1e-300), kSmall = std::numeric_limits<T>::epsilon() / 2;
  T b = x + 1 - a, c = 1 / kTiny, d = 1 / b, value = d;
  // Derivatives by a; that of b is -1.
  T c_slope = 0, d_slope = d * d, slope = d_slope;
  for (int i = 1; i < kMostTerms; ++i) {
    const T numerator = -i * (i - a);
    b += 2;
    d_slope = i * d + numerator * d_slope - 1;
    d = numerator * d + b;
    if (d == 0) d = kTiny;
    c_slope = (i - numerator * c_slope / c) / c - 1;
    c = b + numerator / c;
    if (c == 0) c = kTiny;
    d = 1 / d;
    d_slope *= -d * d;
    const T factor = c * d;
    const T factor_slope = c_slope * d + c * d_slope;
    slope = slope * factor + value * factor_slope;
    value *= factor;
    if (std::fabs(factor - 1) < kSmall &&
        std::fabs(value * factor_slope) <= kSmall * std::fabs(slope)) {
      break;
    }
  }
  return {value, slope};
}

}  // namespace

template <class T>
T igamma(T a, T x) {
  if (a == 0 && x > 0) return 1;  // the limit
  if (!(a > 0) || !(x >= 0)) return kNan<T>;
  if (x == 0) return 0;
  if (x == kInfinity<T>) return a == kInfinity<T> ? kNan<T> : 1;
  if (a == kInfinity<T>) return 0;
  return boost::math::gamma_p(a, x, BoostPolicy());
}

template <class T>
T igammac(T a, T x) {
  if (a == 0 && x > 0) return 0;  // the limit
  if (!(a > 0) || !(x >= 0)) return kNan<T>;
  if (x == 0) return 1;
  if (x == kInfinity<T>) return a == kInfinity<T> ? kNan<T> : 0;
  if (a == kInfinity<T>) return 1;
  return boost::math::gamma_q(a, x, BoostPolicy());
}

template <class T>
T igamma_grad_a(T a, T x) {
  if (!(a > 0) || !(x >= 0)) return kNan<T>;
  if (x == 0 || x == kInfinity<T> || a == kInfinity<T>) return 0;
  // igamma(a, x) = igamma(a + 1, x) + x^a e^-x / gamma(a + 1); these terms stay bounded for small
  // a.
  if (a < 1) {
    const T density = boost::math::gamma_p_derivative(a + 1, x, BoostPolicy());
    return igamma_grad_a(a + 1, x) + density * (std::log(x) - digamma(a + 1));
  }
  const bool is_lower = x < a + 1;
  const Scaled<T> part = is_lower ? igamma_series(a, x) : igammac_fraction(a, x);
  const T slope = part.slope + part.value * (std::log(x) - digamma(a));
  return (is_lower ? slope : -slope) * x * boost::math::gamma_p_derivative(a, x, BoostPolicy());
}

// The implicit function theorem: -(dP/da) / (dP/dx) with P = igamma(a, x). The density dP/dx is x^a
// e^-x / gamma(a) / x, so the common factor cancels.
template <class T>
T random_gamma_grad(T a, T x) {
  if (!(a > 0) || !(x >= 0) || a == kInfinity<T>) return kNan<T>;
  if (x == 0 || x == kInfinity<T>) return x;
  const bool is_lower = x < a + 1;
  const Scaled<T> part = is_lower ? igamma_series(a, x) : igammac_fraction(a, x);
  const T slope = part.slope + part.value * (std::log(x) - digamma(a));
  return x * (is_lower ? -slope : slope);
}

// The first term of DLMF 8.18.9, symmetric in a and b: the next one is smaller by the square root
// of a + b. Boost's fraction takes as many steps as that root, and loses as many digits.
template <class T>
T incomplete_beta_of_large(T a, T b, T x) {
  const T sum = a + b, mean = a / sum, rest = b / sum, difference = x - mean;
  const T half_square = -mean * boost::math::log1pmx(difference / mean, BoostPolicy()) -
                        rest * boost::math::log1pmx(-difference / rest, BoostPolicy());
  const T root = std::sqrt(half_square * sum);
  return std::erfc(difference < 0 ? root : -root) / 2;
}

template <class T>
T incomplete_beta(T a, T b, T x) {
  if (a == 0 && b > 0 && x >= 0 && x <= 1) return x > 0 ? 1 : 0;  // the limits
  if (b == 0 && a > 0 && x >= 0 && x <= 1) return x < 1 ? 0 : 1;
  if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1)) return kNan<T>;
  if (x == 0 || x == 1) return x;
  if (a == kInfinity<T> || b == kInfinity<T>) return a == b ? kNan<T> : (a > b ? 0 : 1);
  constexpr T kLarge = 1e12;
  if (a > kLarge && b > kLarge) return incomplete_beta_of_large(a, b, x);
  return boost::math::ibeta(a, b, x, BoostPolicy());
}

#define FARCALL_INSTANTIATE(T)           \
  template T igamma<T>(T, T);            \
  template T igammac<T>(T, T);           \
  template T igamma_grad_a<T>(T, T);     \
  template T random_gamma_grad<T>(T, T); \
  template T incomplete_beta<T>(T, T, T);
FARCALL_INSTANTIATE(double)
FARCALL_INSTANTIATE(long double)
#undef FARCALL_INSTANTIATE

}  // namespace farcall::native
