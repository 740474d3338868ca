// The normal distribution and its relatives.
#include <cmath>
#include <numbers>

#include <farcall/nn/activations.h>

#include "scipy/stats_support.h"

namespace farcall::stats {

namespace norm {

Array logpdf(const Array& x_in, const Array& loc_in, const Array& scale_in) {
  const auto [x, loc, scale] = floats("norm.logpdf", x_in, loc_in, scale_in);
  return -(std::log(2 * std::numbers::pi) + np::square((x - loc) / scale)) / 2 - np::log(scale);
}

Array pdf(const Array& x, const Array& loc, const Array& scale) {
  return np::exp(logpdf(x, loc, scale));
}

namespace {

Array standardized(std::string_view function, const Array& x_in, const Array& loc_in,
                   const Array& scale_in) {
  const auto [x, loc, scale] = floats(function, x_in, loc_in, scale_in);
  return (x - loc) / scale;
}

}  // namespace
Array cdf(const Array& x, const Array& loc, const Array& scale) {
  return special::ndtr(standardized("norm.cdf", x, loc, scale));
}

Array logcdf(const Array& x, const Array& loc, const Array& scale) {
  return special::log_ndtr(standardized("norm.logcdf", x, loc, scale));
}

Array sf(const Array& x, const Array& loc, const Array& scale) {
  return special::ndtr(-standardized("norm.sf", x, loc, scale));
}

Array logsf(const Array& x, const Array& loc, const Array& scale) {
  return special::log_ndtr(-standardized("norm.logsf", x, loc, scale));
}

Array ppf(const Array& q_in, const Array& loc_in, const Array& scale_in) {
  const auto [q, loc, scale] = floats("norm.ppf", q_in, loc_in, scale_in);
  return special::ndtri(q) * scale + loc;
}

Array isf(const Array& q_in, const Array& loc_in, const Array& scale_in) {
  const auto [q, loc, scale] = floats("norm.isf", q_in, loc_in, scale_in);
  return loc - special::ndtri(q) * scale;
}

}  // namespace norm

namespace truncnorm {

namespace {

Array log_difference(const Array& larger, const Array& smaller) {
  const Array gap = larger - smaller;
  const Array is_empty = np::logical_or(np::equal(gap, 0), np::isnan(gap));
  const Array safe = np::where(is_empty, 1.0, gap);
  return np::where(is_empty, -kInfinity, larger + nn::log1mexp(safe));
}

Array log_mass(const Array& a, const Array& b) {
  const Array is_left = np::less_equal(b, 0);
  const Array is_right = np::greater(a, 0);
  const Array low = np::where(is_right, -b, a);
  const Array high = np::where(is_right, -a, b);
  const Array tail = log_difference(special::log_ndtr(high), special::log_ndtr(low));
  const Array centre = np::log1p(-special::ndtr(a) - special::ndtr(-b));
  return np::where(np::logical_or(is_left, is_right), tail, centre);
}

std::array<Array, 4> standardized(std::string_view function, const Array& x_in, const Array& a_in,
                                  const Array& b_in, const Array& loc_in, const Array& scale_in) {
  auto [x, a, b, loc, scale] = floats(function, x_in, a_in, b_in, loc_in, scale_in);
  const Array y = (x - loc) / scale;
  a = a + 0 * x;
  b = b + 0 * x;
  return {y, a, b, scale};
}

}  // namespace
Array logpdf(const Array& x, const Array& a_in, const Array& b_in, const Array& loc,
             const Array& scale_in) {
  const auto [y, a, b, scale] = standardized("truncnorm.logpdf", x, a_in, b_in, loc, scale_in);
  Array value = norm::logpdf(y) - np::log(scale) - log_mass(a, b);
  value = np::where(between(a, y, b), value, -kInfinity);
  return np::where(np::greater_equal(a, b), kNan, value);
}

Array pdf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return np::exp(logpdf(x, a, b, loc, scale));
}

Array logcdf(const Array& x, const Array& a_in, const Array& b_in, const Array& loc,
             const Array& scale) {
  const auto [y, a, b, unused] = standardized("truncnorm.logcdf", x, a_in, b_in, loc, scale);
  const Array inner = np::clip(y, a, b);
  Array value = log_mass(a, inner) - log_mass(a, b);
  value =
      np::where(np::greater_equal(y, b), 0.0, np::where(np::less_equal(y, a), -kInfinity, value));
  return np::where(np::greater_equal(a, b), kNan, value);
}

Array cdf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return np::exp(logcdf(x, a, b, loc, scale));
}

Array logsf(const Array& x, const Array& a_in, const Array& b_in, const Array& loc,
            const Array& scale) {
  const auto [y, a, b, unused] = standardized("truncnorm.logsf", x, a_in, b_in, loc, scale);
  const Array inner = np::clip(y, a, b);
  Array value = log_mass(inner, b) - log_mass(a, b);
  value =
      np::where(np::greater_equal(y, b), -kInfinity, np::where(np::less_equal(y, a), 0.0, value));
  return np::where(np::greater_equal(a, b), kNan, value);
}

Array sf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return np::exp(logsf(x, a, b, loc, scale));
}

}  // namespace truncnorm

namespace gennorm {

Array logpdf(const Array& x_in, const Array& beta_in) {
  const auto [x, beta] = floats("gennorm.logpdf", x_in, beta_in);
  return np::log(beta / 2) - lax::lgamma(1 / beta) - np::power(np::absolute(x), beta);
}

Array pdf(const Array& x, const Array& beta) { return np::exp(logpdf(x, beta)); }

Array cdf(const Array& x_in, const Array& beta_in) {
  const auto [x, beta] = floats("gennorm.cdf", x_in, beta_in);
  return 0.5 * (1 + np::sign(x) * special::gammainc(1 / beta, np::power(np::absolute(x), beta)));
}

}  // namespace gennorm

}  // namespace farcall::stats
