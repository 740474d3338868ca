// Samples that are vectors or matrices.
#include <fmt/format.h>

#include <farcall/linalg/linalg.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/promotion.h>

#include "random/checks.h"

namespace farcall::random {
namespace {

// A matrix F with F F^H = covariance.
Array factor(const Array& covariance, std::string_view method) {
  const auto scaled = [](const Array& vectors, const Array& squares) {
    return vectors * numpy::expand_dims(lax::sqrt(squares), {-2});
  };
  if (method == "cholesky") return linalg::cholesky(covariance);
  if (method == "eigh") {
    const auto [vectors, values] = linalg::eigh(covariance);
    return scaled(vectors, values);
  }
  if (method != "svd") {
    invalid_argument(
        fmt::format("multivariate_normal: method must be \"cholesky\", \"eigh\" or \"svd\", got "
                    "\"{}\"",
                    method));
  }
  const auto [u, s, vh] = linalg::svd(covariance);
  return scaled(u, s);
}

int64_t checked_dimension(std::string_view function, const char* name, int64_t size) {
  if (size >= 0) return size;
  invalid_argument(fmt::format("{}: {} must be 0 or more, got {}", function, name, size));
}

}  // namespace

Array multivariate_normal(const Array& key, const Array& mean, const Array& cov,
                          const OptionalShape& shape, std::optional<DType> dtype,
                          std::string_view method) {
  const Array typed = one_key("multivariate_normal", key);
  const ShapeDtype types[] = {mean.type(), cov.type()};
  const DType common =
      with_error_prefix("multivariate_normal", [&] { return promote_to_inexact(types).dtype; });
  check_float("multivariate_normal", dtype.value_or(common));
  if (mean.rank() < 1 || cov.rank() < 2) {
    invalid_argument(
        fmt::format("multivariate_normal: mean must be a vector and cov a matrix, or stacks of "
                    "them; got {} and {}",
                    mean.type().to_string(), cov.type().to_string()));
  }
  const auto last = mean.shape().last(1);
  if (cov.shape().back() != last[0] || cov.shape()[cov.rank() - 2] != last[0]) {
    invalid_argument(
        fmt::format("multivariate_normal: cov must have shape [..., {}, {}] for a mean of {}; "
                    "got {}",
                    last[0], last[0], mean.type().to_string(), cov.type().to_string()));
  }
  const Shape front =
      common_shape("multivariate_normal", shape,
                   {mean.shape().first(mean.rank() - 1), cov.shape().first(cov.rank() - 2)});
  const Array root = factor(in_dtype(cov, common), method);
  const Array samples = normal(typed, joined<Shape>(front, last), dtype.value_or(common));
  const Array moved = numpy::matmul(root, numpy::expand_dims(samples, {-1}));
  return in_dtype(mean, common) + numpy::squeeze(moved, -1);
}

// F. Barthe, O. Guedon, S. Mendelson and A. Naor, "A probabilistic approach to the geometry of the
// l_p^n ball" (Annals of Probability, 2005).
Array ball(const Array& key, int64_t d, const Array& p, ListOf<int64_t> shape, DType dtype) {
  const Array typed = one_key("ball", key);
  check_float("ball", dtype);
  const int64_t dimensions[] = {checked_dimension("ball", "d", d)};
  const Shape size = checked_shape("ball", shape);
  const Array order = settled(p, dtype);
  const Array g =
      generalized_normal(subkey(typed, 0), order, joined<Shape>(size, dimensions), dtype);
  const Array e = exponential(subkey(typed, 1), size, dtype);
  const Array sum = numpy::sum(numpy::power(lax::abs(g), order), -1) + e;
  return g / numpy::expand_dims(numpy::power(sum, 1.0 / order), {-1});
}

// F. Mezzadri, "How to generate random matrices from the classical compact groups" (Notices of the
// AMS, 2007): the orthogonal factor of a normal matrix, with normalized signs.
Array orthogonal(const Array& key, int64_t n, ListOf<int64_t> shape, DType dtype,
                 std::optional<int64_t> m) {
  const Array typed = one_key("orthogonal", key);
  const int64_t rows = checked_dimension("orthogonal", "n", n);
  const int64_t columns = checked_dimension("orthogonal", "m", m.value_or(n));
  const int64_t sizes[] = {std::max(rows, columns), std::min(rows, columns)};
  const Array z = normal(typed, joined<Shape>(checked_shape("orthogonal", shape), sizes), dtype);
  const auto [q, r] = linalg::qr(z, /*full_matrices=*/false);
  const Array signs = lax::sign(numpy::diagonal(r, 0, -2, -1));
  const Array x = q * numpy::expand_dims(signs, {-2});
  return rows < columns ? numpy::swapaxes(x, -2, -1) : x;
}

}  // namespace farcall::random
