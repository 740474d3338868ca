// The gamma function and functions related to it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>

#include "engine/native/kernels/special/boost_policy.h"
#include "engine/native/kernels/special/special.h"

namespace farcall::native {
namespace {

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

template <class T>
bool is_whole(T x) {
  return x == std::floor(x);
}

// From this order on, the factorial and the power in polygamma may overflow T.
template <class T>
constexpr T kMostOrder = std::numeric_limits<T>::max_exponent > 1024 ? T(500) : T(150);

double log_gamma_of(double x, int* sign) { return lgamma_r(x, sign); }
long double log_gamma_of(long double x, int* sign) { return lgammal_r(x, sign); }

// log(gamma(x)) without the main terms of Stirling's formula, for x >= 10: Abramowitz and Stegun,
// 6.1.40.
template <class T>
T stirling_rest(T x) {
  constexpr T kSeries[] = {T(-174611) / 125400, T(43867) / 244188, T(-3617) / 122400, T(1) / 156,
                           T(-691) / 360360,    T(1) / 1188,       T(-1) / 1680,      T(1) / 1260,
                           T(-1) / 360,         T(1) / 12};
  const T inverse_square = 1 / (x * x);
  T sum = 0;
  for (const T c : kSeries) sum = sum * inverse_square + c;
  return sum / x;
}

// q^s times the sum of (q + k)^-s over k >= 0, for q > 0 and s > 1: sums some terms, and adds the
// rest by the Euler-Maclaurin formula. The factor q^s keeps the result in range.
template <class T>
T scaled_hurwitz_zeta(T s, T q) {
  if (q == kInfinity<T>) return kInfinity<T>;
  if (s == kInfinity<T>) return 1;
  constexpr T kEpsilon = std::numeric_limits<T>::epsilon() / 4;
  T sum = 0, at = q;
  const T far = 18 + s;  // the formula's terms decrease with s / at
  // k is counted separately: for large q, q + 1 may equal q.
  for (T k = 0; at < far; k += 1, at = q + k) {
    const T term = k == 0 ? T(1) : std::exp(-s * std::log1p(k / q));
    sum += term;
    if (term * far < kEpsilon * sum) return sum;
  }
  const T last = at == q ? T(1) : std::pow(q / at, s);
  sum += last * (at / (s - 1) + T(0.5));
  // B(2k) / (2k)! for k = 1 to 13.
  constexpr T kSeries[] = {T(1) / 12,
                           T(-1) / 720,
                           T(1) / 30240,
                           T(-1) / 1209600,
                           T(1) / 47900160,
                           T(-691) / T(1307674368000),
                           T(1) / T(74724249600),
                           T(-3617) / T(10670622842880000),
                           T(43867) / T(5109094217170944000),
                           T(-174611) / (T(2432902008176640000) * 330),
                           T(77683) / (T(51090942171709440) * T(276000)),
                           T(-236364091) / (T(620448401733239439360000.0L) * T(2730)),
                           T(657931) / (T(403291461126605635584000000.0L) * T(6))};
  T factor = last * s / at, order = s;
  for (const T c : kSeries) {
    const T term = c * factor;
    sum += term;
    if (std::fabs(term) < kEpsilon * sum) break;
    factor *= (order + 1) * (order + 2) / (at * at);
    order += 2;
  }
  return sum;
}

template <class T>
T hurwitz_zeta(T s, T q) {
  return q == kInfinity<T> ? T(0) : std::pow(q, -s) * scaled_hurwitz_zeta(s, q);
}

// hurwitz_zeta for an integer s and a negative non-integer q. The sum over all integers k depends
// only on the distances of q to its neighbours; the terms below q are subtracted.
template <class T>
T hurwitz_zeta_below_zero(T s, T q) {
  const T sign = std::fmod(s, T(2)) == 0 ? 1 : -1;
  const T above = q - std::floor(q), below = std::ceil(q) - q;
  return hurwitz_zeta(s, above) + sign * (hurwitz_zeta(s, below) - hurwitz_zeta(s, 1 - q));
}

}  // namespace

template <class T>
T gamma_function(T x) {
  return std::tgamma(x);
}

template <class T>
T factorial(T x) {
  return std::tgamma(x + 1);
}

// NaN at the poles, which include zero.
template <class T>
T digamma(T x) {
  if (x != x || x == -kInfinity<T> || (x <= 0 && is_whole(x))) return kNan<T>;
  return x == kInfinity<T> ? x : boost::math::digamma(x, BoostPolicy());
}

// The derivative of digamma of integer order m: (-1)^(m + 1) m! zeta(m + 1, x).
template <class T>
T polygamma(T order, T x) {
  if (order == 0) return digamma(x);
  if (!(order > 0) || !is_whole(order) || x != x) return kNan<T>;
  if (order == kInfinity<T>) return kNan<T>;
  const T s = order + 1;
  const T sign = std::fmod(order, T(2)) == 1 ? 1 : -1;  // of the result for x > 0
  if (x <= 0 && (is_whole(x) || x == -kInfinity<T>)) return sign > 0 ? kInfinity<T> : kNan<T>;
  if (x == kInfinity<T>) return sign * T(0);
  if (order == 1 && x > 0) return boost::math::trigamma(x, BoostPolicy());
  if (x < 0) return sign * std::tgamma(s) * hurwitz_zeta_below_zero(s, x);
  if (order < kMostOrder<T>) return sign * std::tgamma(s) * hurwitz_zeta(s, x);
  return sign * std::exp(std::lgamma(s) - s * std::log(x)) * scaled_hurwitz_zeta(s, x);
}

template <class T>
T zeta(T x, T q) {
  if (x != x || q != q || x < 1) return kNan<T>;
  if (x == 1) return kInfinity<T>;
  if (q > 0) return hurwitz_zeta(x, q);
  if (is_whole(q)) return kInfinity<T>;
  if (!is_whole(x)) return kNan<T>;  // powers of negative numbers
  return hurwitz_zeta_below_zero(x, q);
}

template <class T>
T log_beta(T a, T b) {
  if (a != a || b != b) return kNan<T>;
  if ((a <= 0 && is_whole(a)) || (b <= 0 && is_whole(b))) return kInfinity<T>;
  const T p = std::min(a, b), q = std::max(a, b);
  if (!(p > 0) || q < 10) {
    int sign;
    return log_gamma_of(p, &sign) + (log_gamma_of(q, &sign) - log_gamma_of(p + q, &sign));
  }
  if (q == kInfinity<T>) return -q;
  // Stirling's formula, arranged so that large terms cancel before they are computed.
  constexpr T kHalfLogTwoPi = T(0.918938533204672741780329736405617639861L);
  const T tail = stirling_rest(q) - stirling_rest(p + q), part = p / (p + q);
  if (p >= 10) {
    return kHalfLogTwoPi - std::log(q) / 2 + (stirling_rest(p) + tail) +
           ((p - T(0.5)) * std::log(part) + q * std::log1p(-part));
  }
  int sign;
  return log_gamma_of(p, &sign) + tail + p - p * std::log(p + q) + (q - T(0.5)) * std::log1p(-part);
}

// NaN at poles, except at zero: the sign of the zero is the sign of the infinity.
template <class T>
T beta(T a, T b) {
  if (a != a || b != b || a == -kInfinity<T> || b == -kInfinity<T>) return kNan<T>;
  if (a > 0 && b > 0) {
    if (a == kInfinity<T> || b == kInfinity<T>) return 0;
    return boost::math::beta(a, b, BoostPolicy());
  }
  if (a == 0 || b == 0) {
    const T zero = a == 0 ? a : b, other = a == 0 ? b : a;
    const bool is_defined =
        other == 0 ? std::signbit(a) == std::signbit(b) : other > 0 || !is_whole(other);
    return is_defined && other != kInfinity<T> ? std::copysign(kInfinity<T>, zero) : kNan<T>;
  }
  if ((a < 0 && is_whole(a)) || (b < 0 && is_whole(b))) return kNan<T>;
  int sign_a, sign_b, sign_sum;
  const T log_a = log_gamma_of(a, &sign_a), log_b = log_gamma_of(b, &sign_b);
  const T log_sum = log_gamma_of(a + b, &sign_sum);
  return static_cast<T>(sign_a * sign_b * sign_sum) * std::exp(log_a + (log_b - log_sum));
}

// Not std::lgamma: it writes the sign to a global variable.
double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}
float log_gamma(float x) {
  int sign;
  return lgammaf_r(x, &sign);
}

#define FARCALL_INSTANTIATE(T)     \
  template T gamma_function<T>(T); \
  template T factorial<T>(T);      \
  template T digamma<T>(T);        \
  template T polygamma<T>(T, T);   \
  template T zeta<T>(T, T);        \
  template T beta<T>(T, T);        \
  template T log_beta<T>(T, T);
FARCALL_INSTANTIATE(double)
FARCALL_INSTANTIATE(long double)
#undef FARCALL_INSTANTIATE

}  // namespace farcall::native
