// Discrete distributions.
#include <cmath>
#include <numbers>

#include "scipy/stats_support.h"

namespace farcall::stats {

namespace bernoulli {

Array logpmf(const Array& k_in, const Array& p_in, const Array& loc_in) {
  const auto [k, p, loc] = floats("bernoulli.logpmf", k_in, p_in, loc_in);
  const Array x = k - loc;
  const Array value = special::xlogy(x, p) + special::xlog1py(1 - x, -p);
  const Array is_in = np::logical_or(np::equal(x, 0), np::equal(x, 1));
  return inside(is_in, value, -kInfinity);
}

Array pmf(const Array& k, const Array& p, const Array& loc) { return np::exp(logpmf(k, p, loc)); }

Array cdf(const Array& k_in, const Array& p_in) {
  const auto [k, p] = floats("bernoulli.cdf", k_in, p_in);
  const Array value = np::where(np::less(k, 0), 0.0, np::where(np::less(k, 1), 1 - p, 1.0));
  const Array is_in = np::logical_and(between(0, p, 1), np::logical_not(np::isnan(k)));
  return inside(is_in, np::astype(value, p.dtype()), kNan);
}

Array ppf(const Array& q_in, const Array& p_in) {
  const auto [q, p] = floats("bernoulli.ppf", q_in, p_in);
  const Array is_in = np::logical_and(between(0, q, 1), between(0, p, 1));
  const Array value = np::astype(np::greater(q, 1 - p), q.dtype());
  return inside(is_in, value, kNan);
}

}  // namespace bernoulli

namespace betabinom {

Array logpmf(const Array& k_in, const Array& n_in, const Array& a_in, const Array& b_in,
             const Array& loc_in) {
  const auto [k, n, a, b, loc] = floats("betabinom.logpmf", k_in, n_in, a_in, b_in, loc_in);
  const Array whole = np::floor(k - loc);
  const Array is_in = between(0, whole, n);
  const Array y = np::where(is_in, whole, np::zeros({}, k.dtype()));
  const Array ways = -np::log1p(n) - special::betaln(n - y + 1, y + 1);
  return inside(is_in, ways + special::betaln(y + a, n - y + b) - special::betaln(a, b),
                -kInfinity);
}

Array pmf(const Array& k, const Array& n, const Array& a, const Array& b, const Array& loc) {
  return np::exp(logpmf(k, n, a, b, loc));
}

}  // namespace betabinom

namespace binom {

Array logpmf(const Array& k_in, const Array& n_in, const Array& p_in, const Array& loc_in) {
  const auto [k, n, p, loc] = floats("binom.logpmf", k_in, n_in, p_in, loc_in);
  Array y = k - loc;
  const Array is_in = between(0, y, n);
  y = np::where(is_in, y, np::zeros({}, y.dtype()));
  const Array ways = lax::lgamma(n + 1) - lax::lgamma(y + 1) - lax::lgamma(n - y + 1);
  return inside(is_in, ways + special::xlogy(y, p) + special::xlog1py(n - y, -p), -kInfinity);
}

Array pmf(const Array& k, const Array& n, const Array& p, const Array& loc) {
  return np::exp(logpmf(k, n, p, loc));
}

}  // namespace binom

namespace geom {

Array logpmf(const Array& k_in, const Array& p_in, const Array& loc_in) {
  const auto [k, p, loc] = floats("geom.logpmf", k_in, p_in, loc_in);
  const Array y = k - loc;
  const Array is_in = np::greater(y, 0);
  const Array value = special::xlog1py(np::where(is_in, y, 1.0) - 1, -p) + np::log(p);
  return inside(is_in, value, -kInfinity);
}

Array pmf(const Array& k, const Array& p, const Array& loc) { return np::exp(logpmf(k, p, loc)); }

}  // namespace geom

namespace multinomial {

Array logpmf(const Array& x, const Array& n, const Array& p_in) {
  const auto [p] = floats("multinomial.logpmf", p_in);
  const Array k = np::astype(x, p.dtype());
  const Array total = np::astype(n, p.dtype());
  const Array value =
      lax::lgamma(total + 1) + np::sum(special::xlogy(k, p) - lax::lgamma(k + 1), -1);
  return inside(np::equal(np::sum(x, -1), n), value, -kInfinity);
}

Array pmf(const Array& x, const Array& n, const Array& p) { return np::exp(logpmf(x, n, p)); }

}  // namespace multinomial

namespace nbinom {

Array logpmf(const Array& k_in, const Array& n_in, const Array& p_in, const Array& loc_in) {
  const auto [k, n, p, loc] = floats("nbinom.logpmf", k_in, n_in, p_in, loc_in);
  Array y = k - loc;
  const Array is_in = np::greater_equal(y, 0);
  y = np::where(is_in, y, np::zeros({}, y.dtype()));
  const Array ways = lax::lgamma(y + n) - lax::lgamma(n) - lax::lgamma(y + 1);
  return inside(is_in, ways + special::xlogy(n, p) + special::xlog1py(y, -p), -kInfinity);
}

Array pmf(const Array& k, const Array& n, const Array& p, const Array& loc) {
  return np::exp(logpmf(k, n, p, loc));
}

}  // namespace nbinom

namespace poisson {

Array logpmf(const Array& k_in, const Array& mu_in, const Array& loc_in) {
  const auto [k, mu, loc] = floats("poisson.logpmf", k_in, mu_in, loc_in);
  Array y = k - loc;
  const Array is_in = np::logical_and(np::greater_equal(y, 0), np::equal(y, np::rint(y)));
  y = np::where(is_in, y, np::zeros({}, y.dtype()));
  return inside(is_in, special::xlogy(y, mu) - lax::lgamma(y + 1) - mu, -kInfinity);
}

Array pmf(const Array& k, const Array& mu, const Array& loc) { return np::exp(logpmf(k, mu, loc)); }

Array cdf(const Array& k_in, const Array& mu_in, const Array& loc_in) {
  const auto [k, mu, loc] = floats("poisson.cdf", k_in, mu_in, loc_in);
  const Array y = k - loc;
  const Array is_in = np::greater_equal(y, 0);
  const Array value = special::gammaincc(np::floor(np::maximum(y, 0)) + 1, mu);
  return inside(is_in, value, 0);
}

}  // namespace poisson

}  // namespace farcall::stats
