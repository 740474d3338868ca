// Continuous distributions.
#include <cmath>
#include <numbers>
#include <tuple>

#include <farcall/nn/activations.h>

#include "scipy/stats_support.h"

namespace farcall::stats {

namespace beta {

Array logpdf(const Array& x, const Array& a_in, const Array& b_in, const Array& loc,
             const Array& scale_in) {
  const auto [y, a, b, scale] = standard("beta.logpdf", x, a_in, b_in, loc, scale_in);
  const Array is_in = between(0, y, 1);
  const Array safe = np::where(is_in, y, 0.5);
  const Array value =
      special::xlogy(a - 1, safe) + special::xlog1py(b - 1, -safe) - special::betaln(a, b);
  return inside(is_in, value - np::log(scale), -kInfinity);
}

Array pdf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return np::exp(logpdf(x, a, b, loc, scale));
}

Array cdf(const Array& x, const Array& a_in, const Array& b_in, const Array& loc,
          const Array& scale) {
  const auto [y, a, b, unused] = standard("beta.cdf", x, a_in, b_in, loc, scale);
  return special::betainc(a, b, np::clip(y, 0, 1));
}

Array logcdf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return np::log(cdf(x, a, b, loc, scale));
}

Array sf(const Array& x, const Array& a_in, const Array& b_in, const Array& loc,
         const Array& scale) {
  const auto [y, a, b, unused] = standard("beta.sf", x, a_in, b_in, loc, scale);
  return special::betainc(b, a, 1 - np::clip(y, 0, 1));
}

Array logsf(const Array& x, const Array& a, const Array& b, const Array& loc, const Array& scale) {
  return np::log(sf(x, a, b, loc, scale));
}

}  // namespace beta

namespace cauchy {

Array logpdf(const Array& x, const Array& loc, const Array& scale_in) {
  const auto [y, scale] = standard("cauchy.logpdf", x, loc, scale_in);
  return -(std::log(std::numbers::pi) + np::log(scale) + np::log1p(y * y));
}

Array pdf(const Array& x, const Array& loc, const Array& scale) {
  return np::exp(logpdf(x, loc, scale));
}

Array cdf(const Array& x, const Array& loc, const Array& scale) {
  const auto [y, unused] = standard("cauchy.cdf", x, loc, scale);
  return 0.5 + np::arctan(y) / std::numbers::pi;
}

Array logcdf(const Array& x, const Array& loc, const Array& scale) {
  return np::log(cdf(x, loc, scale));
}

Array sf(const Array& x, const Array& loc, const Array& scale) {
  const auto [y, unused] = standard("cauchy.sf", x, loc, scale);
  return 0.5 - np::arctan(y) / std::numbers::pi;
}

Array logsf(const Array& x, const Array& loc, const Array& scale) {
  return np::log(sf(x, loc, scale));
}

Array ppf(const Array& q_in, const Array& loc_in, const Array& scale_in) {
  const auto [q, loc, scale] = floats("cauchy.ppf", q_in, loc_in, scale_in);
  return np::tan(std::numbers::pi * q - std::numbers::pi / 2) * scale + loc;
}

Array isf(const Array& q_in, const Array& loc_in, const Array& scale_in) {
  const auto [q, loc, scale] = floats("cauchy.isf", q_in, loc_in, scale_in);
  return np::tan(std::numbers::pi / 2 - std::numbers::pi * q) * scale + loc;
}

}  // namespace cauchy

namespace gamma {

Array logpdf(const Array& x, const Array& a_in, const Array& loc, const Array& scale_in) {
  const auto [y, a, scale] = standard("gamma.logpdf", x, a_in, loc, scale_in);
  const Array is_in = np::greater_equal(y, 0);
  const Array safe = np::where(is_in, y, 1.0);
  const Array value = special::xlogy(a - 1, safe) - safe - lax::lgamma(a) - np::log(scale);
  return inside(is_in, value, -kInfinity);
}

Array pdf(const Array& x, const Array& a, const Array& loc, const Array& scale) {
  return np::exp(logpdf(x, a, loc, scale));
}

Array cdf(const Array& x, const Array& a_in, const Array& loc, const Array& scale) {
  const auto [y, a, unused] = standard("gamma.cdf", x, a_in, loc, scale);
  return special::gammainc(a, np::maximum(y, 0));
}

Array logcdf(const Array& x, const Array& a, const Array& loc, const Array& scale) {
  return np::log(cdf(x, a, loc, scale));
}

Array sf(const Array& x, const Array& a_in, const Array& loc, const Array& scale) {
  const auto [y, a, unused] = standard("gamma.sf", x, a_in, loc, scale);
  return special::gammaincc(a, np::maximum(y, 0));
}

Array logsf(const Array& x, const Array& a, const Array& loc, const Array& scale) {
  return np::log(sf(x, a, loc, scale));
}

}  // namespace gamma

namespace chi2 {

namespace {

std::array<Array, 4> as_gamma(std::string_view function, const Array& x_in, const Array& df_in,
                              const Array& loc_in, const Array& scale_in) {
  const auto [x, df, loc, scale] = floats(function, x_in, df_in, loc_in, scale_in);
  return {x, df / 2, loc, 2 * scale};
}

}  // namespace
Array logpdf(const Array& x, const Array& df, const Array& loc, const Array& scale) {
  return std::apply(gamma::logpdf, as_gamma("chi2.logpdf", x, df, loc, scale));
}

Array pdf(const Array& x, const Array& df, const Array& loc, const Array& scale) {
  return np::exp(logpdf(x, df, loc, scale));
}

Array cdf(const Array& x, const Array& df, const Array& loc, const Array& scale) {
  return std::apply(gamma::cdf, as_gamma("chi2.cdf", x, df, loc, scale));
}

Array logcdf(const Array& x, const Array& df, const Array& loc, const Array& scale) {
  return np::log(cdf(x, df, loc, scale));
}

Array sf(const Array& x, const Array& df, const Array& loc, const Array& scale) {
  return std::apply(gamma::sf, as_gamma("chi2.sf", x, df, loc, scale));
}

Array logsf(const Array& x, const Array& df, const Array& loc, const Array& scale) {
  return np::log(sf(x, df, loc, scale));
}

}  // namespace chi2

namespace expon {

Array logpdf(const Array& x, const Array& loc, const Array& scale_in) {
  const auto [y, scale] = standard("expon.logpdf", x, loc, scale_in);
  return inside(np::greater_equal(y, 0), -y - np::log(scale), -kInfinity);
}

Array pdf(const Array& x, const Array& loc, const Array& scale) {
  return np::exp(logpdf(x, loc, scale));
}

Array cdf(const Array& x, const Array& loc, const Array& scale) {
  const auto [y, unused] = standard("expon.cdf", x, loc, scale);
  return inside(np::greater_equal(y, 0), -np::expm1(-y), 0);
}

Array logcdf(const Array& x, const Array& loc, const Array& scale) {
  const auto [y, unused] = standard("expon.logcdf", x, loc, scale);
  const Array positive = np::maximum(y, 0);
  return inside(np::greater_equal(y, 0), np::log1p(-np::exp(-positive)), -kInfinity);
}

Array sf(const Array& x, const Array& loc, const Array& scale) {
  return np::exp(logsf(x, loc, scale));
}

Array logsf(const Array& x, const Array& loc, const Array& scale) {
  const auto [y, unused] = standard("expon.logsf", x, loc, scale);
  return inside(np::greater_equal(y, 0), -y, 0);
}

Array ppf(const Array& q_in, const Array& loc_in, const Array& scale_in) {
  const auto [q, loc, scale] = floats("expon.ppf", q_in, loc_in, scale_in);
  return inside(between(0, q, 1), loc - scale * np::log1p(-q), kNan);
}

}  // namespace expon

namespace gumbel_r {

Array logpdf(const Array& x, const Array& loc, const Array& scale_in) {
  const auto [y, scale] = standard("gumbel_r.logpdf", x, loc, scale_in);
  return -(y + np::exp(-y)) - np::log(scale);
}

Array pdf(const Array& x, const Array& loc, const Array& scale) {
  return np::exp(logpdf(x, loc, scale));
}

Array logcdf(const Array& x, const Array& loc, const Array& scale) {
  return -np::exp(-standard("gumbel_r.logcdf", x, loc, scale)[0]);
}

Array cdf(const Array& x, const Array& loc, const Array& scale) {
  return np::exp(logcdf(x, loc, scale));
}

Array sf(const Array& x, const Array& loc, const Array& scale) {
  return -np::expm1(logcdf(x, loc, scale));
}

Array logsf(const Array& x, const Array& loc, const Array& scale) {
  return np::log(sf(x, loc, scale));
}

Array ppf(const Array& q_in, const Array& loc_in, const Array& scale_in) {
  const auto [q, loc, scale] = floats("gumbel_r.ppf", q_in, loc_in, scale_in);
  return loc - scale * np::log(-np::log(q));
}

}  // namespace gumbel_r

namespace gumbel_l {

namespace {

std::array<Array, 3> mirrored(std::string_view function, const Array& x_in, const Array& loc_in,
                              const Array& scale_in) {
  const auto [x, loc, scale] = floats(function, x_in, loc_in, scale_in);
  return {-x, -loc, scale};
}

}  // namespace
Array logpdf(const Array& x, const Array& loc, const Array& scale) {
  return std::apply(gumbel_r::logpdf, mirrored("gumbel_l.logpdf", x, loc, scale));
}

Array pdf(const Array& x, const Array& loc, const Array& scale) {
  return np::exp(logpdf(x, loc, scale));
}

Array cdf(const Array& x, const Array& loc, const Array& scale) {
  return std::apply(gumbel_r::sf, mirrored("gumbel_l.cdf", x, loc, scale));
}

Array logcdf(const Array& x, const Array& loc, const Array& scale) {
  return np::log(cdf(x, loc, scale));
}

Array sf(const Array& x, const Array& loc, const Array& scale) {
  return std::apply(gumbel_r::cdf, mirrored("gumbel_l.sf", x, loc, scale));
}

Array logsf(const Array& x, const Array& loc, const Array& scale) {
  return std::apply(gumbel_r::logcdf, mirrored("gumbel_l.logsf", x, loc, scale));
}

Array ppf(const Array& q_in, const Array& loc_in, const Array& scale_in) {
  const auto [q, loc, scale] = floats("gumbel_l.ppf", q_in, loc_in, scale_in);
  return loc + scale * np::log(-np::log1p(-q));
}

}  // namespace gumbel_l

namespace laplace {

Array logpdf(const Array& x_in, const Array& loc_in, const Array& scale_in) {
  const auto [x, loc, scale] = floats("laplace.logpdf", x_in, loc_in, scale_in);
  return -(np::absolute((x - loc) / scale) + std::numbers::ln2 + np::log(scale));
}

Array pdf(const Array& x, const Array& loc, const Array& scale) {
  return np::exp(logpdf(x, loc, scale));
}

Array cdf(const Array& x_in, const Array& loc_in, const Array& scale_in) {
  const auto [x, loc, scale] = floats("laplace.cdf", x_in, loc_in, scale_in);
  const Array y = (x - loc) / scale;
  const Array tail = 0.5 * np::exp(-np::absolute(y));
  return np::where(np::less_equal(y, 0), tail, 1 - tail);
}

}  // namespace laplace

namespace logistic {

Array logpdf(const Array& x, const Array& loc, const Array& scale_in) {
  const auto [y, scale] = standard("logistic.logpdf", x, loc, scale_in);
  return -(y + 2 * nn::softplus(-y)) - np::log(scale);
}

Array pdf(const Array& x, const Array& loc, const Array& scale) {
  return np::exp(logpdf(x, loc, scale));
}

Array cdf(const Array& x, const Array& loc, const Array& scale) {
  return special::expit(standard("logistic.cdf", x, loc, scale)[0]);
}

Array sf(const Array& x, const Array& loc, const Array& scale) {
  return special::expit(-standard("logistic.sf", x, loc, scale)[0]);
}

Array ppf(const Array& q_in, const Array& loc_in, const Array& scale_in) {
  const auto [q, loc, scale] = floats("logistic.ppf", q_in, loc_in, scale_in);
  return special::logit(q) * scale + loc;
}

Array isf(const Array& q_in, const Array& loc_in, const Array& scale_in) {
  const auto [q, loc, scale] = floats("logistic.isf", q_in, loc_in, scale_in);
  return loc - special::logit(q) * scale;
}

}  // namespace logistic

namespace pareto {

Array logpdf(const Array& x, const Array& b_in, const Array& loc, const Array& scale_in) {
  const auto [y, b, scale] = standard("pareto.logpdf", x, b_in, loc, scale_in);
  const Array is_in = np::greater_equal(y, 1);
  const Array value = np::log(b) - np::log(scale) - (b + 1) * np::log(np::where(is_in, y, 1.0));
  return inside(is_in, value, -kInfinity);
}

Array pdf(const Array& x, const Array& b, const Array& loc, const Array& scale) {
  return np::exp(logpdf(x, b, loc, scale));
}

Array logsf(const Array& x, const Array& b_in, const Array& loc, const Array& scale) {
  const auto [y, b, unused] = standard("pareto.logsf", x, b_in, loc, scale);
  return -b * np::log(np::maximum(y, 1));
}

Array sf(const Array& x, const Array& b, const Array& loc, const Array& scale) {
  return np::exp(logsf(x, b, loc, scale));
}

Array cdf(const Array& x, const Array& b, const Array& loc, const Array& scale) {
  return -np::expm1(logsf(x, b, loc, scale));
}

Array logcdf(const Array& x, const Array& b, const Array& loc, const Array& scale) {
  return np::log(cdf(x, b, loc, scale));
}

Array ppf(const Array& q_in, const Array& b_in, const Array& loc_in, const Array& scale_in) {
  const auto [q, b, loc, scale] = floats("pareto.ppf", q_in, b_in, loc_in, scale_in);
  return inside(between(0, q, 1), loc + scale * np::exp(-np::log1p(-q) / b), kNan);
}

}  // namespace pareto

namespace t {

Array logpdf(const Array& x_in, const Array& df_in, const Array& loc_in, const Array& scale_in) {
  const auto [x, df, loc, scale] = floats("t.logpdf", x_in, df_in, loc_in, scale_in);
  const Array y = (x - loc) / scale;
  const Array half = (df + 1) / 2;
  const Array constant =
      lax::lgamma(half) - lax::lgamma(df / 2) - np::log(df * std::numbers::pi) / 2;
  return constant - np::log(scale) - half * np::log1p(y * y / df);
}

Array pdf(const Array& x, const Array& df, const Array& loc, const Array& scale) {
  return np::exp(logpdf(x, df, loc, scale));
}

}  // namespace t

namespace uniform {

Array logpdf(const Array& x_in, const Array& loc_in, const Array& scale_in) {
  const auto [x, loc, scale] = floats("uniform.logpdf", x_in, loc_in, scale_in);
  return inside(between(loc, x, loc + scale), -np::log(scale), -kInfinity);
}

Array pdf(const Array& x, const Array& loc, const Array& scale) {
  return np::exp(logpdf(x, loc, scale));
}

Array cdf(const Array& x_in, const Array& loc_in, const Array& scale_in) {
  const auto [x, loc, scale] = floats("uniform.cdf", x_in, loc_in, scale_in);
  return np::clip((x - loc) / scale, 0, 1);
}

Array ppf(const Array& q_in, const Array& loc_in, const Array& scale_in) {
  const auto [q, loc, scale] = floats("uniform.ppf", q_in, loc_in, scale_in);
  return inside(between(0, q, 1), q * scale + loc, kNan);
}

}  // namespace uniform

namespace vonmises {

Array logpdf(const Array& x_in, const Array& kappa_in) {
  const auto [x, kappa] = floats("vonmises.logpdf", x_in, kappa_in);
  const Array value =
      kappa * (np::cos(x) - 1) - np::log(2 * std::numbers::pi * special::i0e(kappa));
  return inside(np::greater(kappa, 0), value, kNan);
}

Array pdf(const Array& x, const Array& kappa) { return np::exp(logpdf(x, kappa)); }

}  // namespace vonmises

namespace wrapcauchy {

Array logpdf(const Array& x_in, const Array& c_in) {
  const auto [x, c] = floats("wrapcauchy.logpdf", x_in, c_in);
  Array value =
      np::log1p(-c * c) - std::log(2 * std::numbers::pi) - np::log(1 + c * c - 2 * c * np::cos(x));
  value = np::where(between(0, x, 2 * std::numbers::pi), value, -kInfinity);
  const Array is_shape = np::logical_and(np::greater(c, 0), np::less(c, 1));
  return np::where(is_shape, value, kNan);
}

Array pdf(const Array& x, const Array& c) { return np::exp(logpdf(x, c)); }

}  // namespace wrapcauchy

}  // namespace farcall::stats
