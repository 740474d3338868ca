#include "engine/native/kernels/special.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace farcall::native {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Horner's rule, the highest coefficient first.
template <size_t size>
double polynomial(const double (&coefficients)[size], double x) {
  double value = 0;
  for (const double c : coefficients) value = value * x + c;
  return value;
}

}  // namespace

// Reflection for the negative axis, the recurrence psi(x) = psi(x + 1) - 1 / x up to ten, and there
// the asymptotic series: Abramowitz and Stegun, 6.3.5 to 6.3.18. The poles, zero included, are NaN.
double digamma(double x) {
  if (x != x || x == -kInfinity) return kNan;
  double shift = 0;
  if (x <= 0) {
    const double fraction = x - std::floor(x);
    if (fraction == 0) return kNan;
    // Of the fraction, which is exact where pi * x is not; near zero x itself keeps its digits.
    const double angle = x > -0.5 ? x : (fraction > 0.5 ? fraction - 1 : fraction);
    shift = -std::numbers::pi / std::tan(std::numbers::pi * angle);
    x = 1 - x;
  }
  while (x < 10) {
    shift -= 1 / x;
    x += 1;
  }
  // B(2k) / 2k for k = 7 to 1.
  constexpr double kSeries[] = {1.0 / 12,  -691.0 / 32760, 1.0 / 132, -1.0 / 240,
                                1.0 / 252, -1.0 / 120,     1.0 / 12};
  const double inverse_square = 1 / (x * x);
  return shift + std::log(x) - 0.5 / x - inverse_square * polynomial(kSeries, inverse_square);
}

namespace {

// The sum of (q + k)^-s over k >= 0, for q > 0 and s > 1: some terms, and the rest by Euler and
// Maclaurin's formula.
double hurwitz_zeta(double s, double q) {
  if (q == kInfinity) return 0;
  double sum = 0;
  const double far = 12 + std::min(s, 100.0);  // the formula's terms fall with s / q
  for (; q < far; q += 1) sum += std::pow(q, -s);
  const double last = std::pow(q, -s);
  sum += last * (q / (s - 1) + 0.5);
  // B(2k) / (2k)! for k = 1 to 8.
  constexpr double kSeries[] = {1.0 / 12,
                                -1.0 / 720,
                                1.0 / 30240,
                                -1.0 / 1209600,
                                1.0 / 47900160,
                                -691.0 / 1307674368000.0,
                                1.0 / 74724249600.0,
                                -3617.0 / 10670622842880000.0};
  double factor = last * s / q;
  double order = s;
  for (const double c : kSeries) {
    const double term = c * factor;
    sum += term;
    if (std::fabs(term) < 1e-17 * sum) break;
    factor *= (order + 1) * (order + 2) / (q * q);
    order += 2;
  }
  return sum;
}

}  // namespace

// The derivative of digamma of this order, a whole number: (-1)^(m + 1) m! zeta(m + 1, x). On the
// negative axis the sum over all whole numbers, which depends on the fraction alone, less what lies
// below x.
double polygamma(double order, double x) {
  if (order == 0) return digamma(x);
  if (!(order > 0) || order != std::floor(order) || x != x) return kNan;
  const double s = order + 1;
  const double sign = std::fmod(order, 2) == 1 ? 1 : -1;  // of the result for x > 0
  const double scale = sign * std::tgamma(s);
  if (x > 0) return scale * hurwitz_zeta(s, x);
  const double fraction = x - std::floor(x);
  if (fraction == 0 || x == -kInfinity) return sign > 0 ? kInfinity : kNan;
  const double below = hurwitz_zeta(s, 1 - x) - hurwitz_zeta(s, 1 - fraction);
  return scale * (hurwitz_zeta(s, fraction) - sign * below);
}

double zeta(double x, double q) {
  if (x != x || q != q || x < 1) return kNan;
  if (x == 1) return kInfinity;
  double below = 0;  // the terms up to zero
  if (q <= 0) {
    if (q == std::floor(q)) return kInfinity;
    if (x != std::floor(x)) return kNan;  // powers of negative numbers
    for (; q <= 0; q += 1) below += std::pow(q, -x);
  }
  return below + hurwitz_zeta(x, q);
}

namespace {

constexpr int kMostTerms = 100000;

// x^a e^-x / Gamma(a)
double gamma_factor(double a, double x) { return std::exp(a * std::log(x) - x - log_gamma(a)); }

// A function of a and its derivative, both divided by gamma_factor(a, x).
struct Scaled {
  double value, slope;
};

// Abramowitz and Stegun, 6.5.29: for x below a + 1, where the terms fall at once. The logarithm of
// a term has the slope -1/a - 1/(a + 1) - ...
Scaled igamma_series(double a, double x) {
  double term = 1 / a, sum = term, log_slope = -term, slope = term * log_slope;
  for (int i = 1; i < kMostTerms && term > sum * 1e-17; ++i) {
    term *= x / (a + i);
    log_slope -= 1 / (a + i);
    sum += term;
    slope += term * log_slope;
  }
  return {sum, slope};
}

// 6.5.31, a continued fraction, from its front (Lentz): for larger x.
Scaled igammac_fraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / b, value = d;
  // Their derivatives by a; that of b is -1.
  double c_slope = 0, d_slope = d * d, slope = d_slope;
  for (int i = 1; i < kMostTerms; ++i) {
    const double numerator = -i * (i - a);
    b += 2;
    d_slope = i * d + numerator * d_slope - 1;
    d = numerator * d + b;
    if (d == 0) d = kTiny;
    c_slope = (i - numerator * c_slope / c) / c - 1;
    c = b + numerator / c;
    if (c == 0) c = kTiny;
    d = 1 / d;
    d_slope *= -d * d;
    const double factor = c * d;
    const double factor_slope = c_slope * d + c * d_slope;
    slope = slope * factor + value * factor_slope;
    value *= factor;
    if (std::fabs(factor - 1) < 1e-16 &&
        std::fabs(value * factor_slope) <= 1e-16 * std::fabs(slope)) {
      break;
    }
  }
  return {value, slope};
}

// The lower part where its series is short, the upper one elsewhere.
double lower_part(double a, double x) { return igamma_series(a, x).value * gamma_factor(a, x); }
double upper_part(double a, double x) { return igammac_fraction(a, x).value * gamma_factor(a, x); }

}  // namespace

double igamma(double a, double x) {
  if (!(a > 0) || !(x >= 0)) return kNan;
  if (x == 0) return 0;
  if (x == kInfinity) return a == kInfinity ? kNan : 1;
  if (a == kInfinity) return 0;
  return x < a + 1 ? lower_part(a, x) : 1 - upper_part(a, x);
}

double igammac(double a, double x) {
  if (!(a > 0) || !(x >= 0)) return kNan;
  if (x == 0) return 1;
  if (x == kInfinity) return a == kInfinity ? kNan : 0;
  if (a == kInfinity) return 1;
  return x < a + 1 ? 1 - lower_part(a, x) : upper_part(a, x);
}

double igamma_grad_a(double a, double x) {
  if (!(a > 0) || !(x >= 0)) return kNan;
  if (x == 0 || x == kInfinity || a == kInfinity) return 0;
  const bool is_lower = x < a + 1;
  const Scaled part = is_lower ? igamma_series(a, x) : igammac_fraction(a, x);
  const double slope = part.slope + part.value * (std::log(x) - digamma(a));
  return (is_lower ? slope : -slope) * gamma_factor(a, x);
}

namespace {

// Abramowitz and Stegun, 26.5.8, from its front (Lentz): for x below the mean.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto not_zero = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), value = d;
  for (int m = 1; m < kMostTerms; ++m) {
    const double twice = a + 2 * m;
    const double numerators[] = {m * (b - m) * x / ((twice - 1) * twice),
                                 -(a + m) * (a + b + m) * x / (twice * (twice + 1))};
    double factor = 1;
    for (const double numerator : numerators) {
      d = 1 / not_zero(1 + numerator * d);
      c = not_zero(1 + numerator / c);
      factor = c * d;
      value *= factor;
    }
    if (std::fabs(factor - 1) < 1e-16) break;
  }
  const double log_front =
      a * std::log(x) + b * std::log1p(-x) + log_gamma(a + b) - log_gamma(a) - log_gamma(b);
  return std::exp(log_front) * value / a;
}

}  // namespace

double incomplete_beta(double a, double b, double x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1)) return kNan;
  if (x == 0 || x == 1) return x;
  return x < (a + 1) / (a + b + 2) ? beta_fraction(a, b, x) : 1 - beta_fraction(b, a, 1 - x);
}

namespace {

// Abramowitz and Stegun, 9.6.10 and 9.7.1: a series of positive terms, and where it would be long
// the asymptotic one. Of order 0 or 1, for x >= 0.
double bessel_e(int order, double x) {
  if (x == kInfinity) return 0;
  double term = 1, sum = 1;
  if (x < 30) {
    const double quarter = x * x / 4;
    for (int k = 1; term > sum * 1e-17; ++k) {
      term *= quarter / (static_cast<double>(k) * (k + order));
      sum += term;
    }
    return sum * std::exp(-x) * (order == 0 ? 1 : x / 2);
  }
  for (int k = 1; k < 30 && std::fabs(term) > 1e-17; ++k) {
    const double odd = 2 * k - 1;
    term *= -(4.0 * order - odd * odd) / (k * 8 * x);
    sum += term;
  }
  return sum / std::sqrt(2 * std::numbers::pi * x);
}

}  // namespace

double bessel_i0e(double x) { return x != x ? x : bessel_e(0, std::fabs(x)); }
double bessel_i1e(double x) { return x != x ? x : std::copysign(bessel_e(1, std::fabs(x)), x); }

// M. Giles, "Approximating the erfinv function" (GPU Computing Gems, 2012): its polynomials for
// single precision, made precise by Halley's steps, each of which triples the number of right
// digits.
double erf_inv(double y) {
  if (!(std::fabs(y) < 1)) return std::fabs(y) == 1 ? std::copysign(kInfinity, y) : kNan;
  constexpr double kCentral[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                 -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                 -0.00417768164,  0.246640727,    1.50140941};
  constexpr double kTail[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                              -0.00367342844,  0.00573950773,  -0.0076224613,
                              0.00943887047,   1.00167406,     2.83297682};
  const double magnitude = std::fabs(y);
  const double w = -std::log((1 - magnitude) * (1 + magnitude));
  double x =
      magnitude * (w < 5 ? polynomial(kCentral, w - 2.5) : polynomial(kTail, std::sqrt(w) - 3));
  // Two steps, more in the far tail, which the polynomial was not made for.
  for (int i = 0; i < (w < 16 ? 2 : 4); ++i) {
    // Above a half the complement has the digits; 1 - magnitude is exact there.
    const double error = magnitude < 0.5 ? std::erf(x) - magnitude : (1 - magnitude) - std::erfc(x);
    const double step = error / (2 * std::numbers::inv_sqrtpi * std::exp(-x * x));
    x -= step / (1 + x * step);
  }
  return std::copysign(x, y);
}

// Not std::lgamma, which writes the sign to a variable that all threads share.
double log_gamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}
float log_gamma(float x) {
  int sign;
  return lgammaf_r(x, &sign);
}

std::complex<double> complex_log1p(std::complex<double> z) {
  const double x = z.real(), y = z.imag();
  const double angle = std::atan2(y, x + 1);
  // |1 + z|^2 - 1 loses no digits where z is small; elsewhere hypot does not overflow.
  if (std::fabs(x) < 0.5 && std::fabs(y) < 0.5) {
    return {0.5 * std::log1p(x * (2 + x) + y * y), angle};
  }
  return {std::log(std::hypot(x + 1, y)), angle};
}

std::complex<double> complex_expm1(std::complex<double> z) {
  const double x = z.real(), y = z.imag();
  if (y == 0) return {std::expm1(x), y};
  const double half_sine = std::sin(y / 2);
  return {std::expm1(x) * std::cos(y) - 2 * half_sine * half_sine, std::exp(x) * std::sin(y)};
}

std::complex<double> complex_logistic(std::complex<double> z) {
  if (z.real() < 0) {
    const auto e = std::exp(z);
    return e / (1.0 + e);
  }
  return 1.0 / (1.0 + std::exp(-z));
}

std::complex<double> complex_pow(std::complex<double> base, std::complex<double> exponent) {
  if (exponent == 0.0) return 1;
  if (base == 0.0) {
    if (exponent.imag() == 0 && exponent.real() > 0) return 0;
    return {kNan, kNan};
  }
  return std::pow(base, exponent);
}

}  // namespace farcall::native
