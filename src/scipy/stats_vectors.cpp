// Distributions of vectors.
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/linalg/linalg.h>

#include "scipy/stats_support.h"

namespace farcall::stats {
namespace dirichlet {

Array logpdf(const Array& x_in, const Array& alpha_in) {
  auto [x, alpha] = floats("dirichlet.logpdf", x_in, alpha_in);
  const bool fits = alpha.rank() == 1 && x.rank() > 0 &&
                    (x.shape()[0] == alpha.shape()[0] || x.shape()[0] == alpha.shape()[0] - 1);
  if (!fits) {
    invalid_argument(
        fmt::format("dirichlet.logpdf: alpha must be a vector and the first dimension of x "
                    "as long or one shorter, got {} and {}",
                    alpha.type().to_string(), x.type().to_string()));
  }
  if (x.shape()[0] != alpha.shape()[0])
    x = np::concatenate({x, 1 - np::sum(x, 0, /*keepdims=*/true)}, 0);
  const Array constant = np::sum(lax::lgamma(alpha)) - lax::lgamma(np::sum(alpha));
  Shape column_shape(x.rank(), 1);
  column_shape[0] = alpha.shape()[0];
  const Array column = np::reshape(alpha, column_shape);
  const Array value = np::sum(special::xlogy(column - 1, x), 0) - constant;
  const Array is_on_simplex =
      np::logical_and(np::all(x > 0, 0), np::absolute(np::sum(x, 0) - 1) < 1e-6);
  return inside(is_on_simplex, value, -kInfinity);
}

Array pdf(const Array& x, const Array& alpha) { return np::exp(logpdf(x, alpha)); }

}  // namespace dirichlet

namespace multivariate_normal {

namespace {

const double kLogOfCircle = std::log(2 * std::numbers::pi);

// The log density from the whitened deviations y (along the last dimension) and half the logarithm
// of the determinant of the covariance.
Array from_parts(const Array& y, const Array& half_log_det, int64_t n) {
  const Array squares = np::sum(np::square(y), -1);
  return -squares / 2 - static_cast<double>(n) * kLogOfCircle / 2 - half_log_det;
}

Array in_batch(const Array& x, const Shape& batch, size_t num_own) {
  Shape shape = batch;
  const auto own = x.shape().last(num_own);
  shape.insert(shape.end(), own.begin(), own.end());
  return np::broadcast_to(x, shape);
}

}  // namespace

Array logpdf(const Array& x_in, const Array& mean_in, const Array& cov_in) {
  const auto [x, mean, cov] = floats("multivariate_normal.logpdf", x_in, mean_in, cov_in);
  if (mean.rank() == 0 && cov.rank() == 0) {
    return -(np::square(x - mean) / cov + kLogOfCircle + np::log(cov)) / 2;
  }
  const int64_t n = mean.rank() ? mean.shape().back() : cov.shape().back();
  if (cov.rank() < 2) {
    const Array size = cov.rank() ? cov : np::broadcast_to(cov, {n});
    return from_parts((x - mean) / np::sqrt(cov), np::sum(np::log(size), -1) / 2, n);
  }
  const auto shape = cov.shape();
  if (shape[shape.size() - 1] != n || shape[shape.size() - 2] != n) {
    invalid_argument(
        fmt::format("multivariate_normal.logpdf: cov must be [..., {}, {}] for a mean of "
                    "type {}, got {}",
                    n, n, mean.type().to_string(), cov.type().to_string()));
  }
  const Array lower = linalg::cholesky(cov);
  const Array difference = x - mean;
  if (difference.shape().empty() || difference.shape().back() != n) {
    invalid_argument(fmt::format("multivariate_normal.logpdf: x must be [..., {}], got {}", n,
                                 x.type().to_string()));
  }
  const std::span<const int64_t> batches[] = {difference.shape().first(difference.rank() - 1),
                                              lower.shape().first(lower.rank() - 2)};
  const Shape batch = with_error_prefix("multivariate_normal.logpdf",
                                        [&] { return np::broadcast_shapes(batches); });
  const Array column = np::expand_dims(in_batch(difference, batch, 1), {-1});
  const Array y = linalg::triangular_solve(in_batch(lower, batch, 2), column,
                                           {.left_side = true, .lower = true});
  const Array half_log_det = np::sum(np::log(np::diagonal(lower, 0, -2, -1)), -1);
  return from_parts(np::squeeze(y, -1), half_log_det, n);
}

Array pdf(const Array& x, const Array& mean, const Array& cov) {
  return np::exp(logpdf(x, mean, cov));
}

}  // namespace multivariate_normal
}  // namespace farcall::stats
