// Functions of matrices made of others: products, a rank-one update, and the polar decomposition.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/linalg/linalg.h>
#include <farcall/ops/control_flow.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_indexing.h>

#include "linalg/internal/arrays.h"
#include "linalg/internal/epsilon.h"

namespace farcall::linalg {
namespace {

void check_real(const char* function, const Array& x) {
  if (!is_complex(x.dtype())) return;
  invalid_argument(fmt::format("{}: takes real matrices, got {}", function, x.type().to_string()));
}

}  // namespace

Array ormqr(const Array& a, const Array& taus, const Array& c, const OrmqrOptions& options) {
  check_matrices("ormqr", a);
  check_matrices("ormqr", c);
  check_alike("ormqr", a, c);
  const int64_t m = rows(a), inner = options.left ? rows(c) : columns(c);
  const int64_t reflections = taus.rank() == 0 ? 0 : taus.shape().back();
  if (inner != m || reflections > columns(a) || reflections > m) {
    invalid_argument(fmt::format(
        "ormqr: the matrix of reflections {} with factors {} makes Q [{},{}], which does not fit c "
        "{} on the {}",
        a.type().to_string(), taus.type().to_string(), m, m, c.type().to_string(),
        options.left ? "right" : "left"));
  }
  const Array parts[] = {column_block(a, 0, reflections),
                         numpy::zeros(with_last(a.type(), 2, {m, m - reflections}), a.dtype())};
  const Array q = householder_product(numpy::concatenate(parts, -1), taus);
  const Array factor = options.transpose ? adjoint(q) : q;
  return options.left ? matmul(factor, c) : matmul(c, factor);
}

Array symmetric_product(const Array& a, const Array& c, const SymmetricProductOptions& options) {
  check_matrices("symmetric_product", a);
  check_square("symmetric_product", c);
  check_alike("symmetric_product", a, c);
  check_real("symmetric_product", a);
  check_sizes("symmetric_product", c, a, rows(a));
  const Array product = lax::mul(matmul(a, transposed(a)), number(options.alpha, a.dtype()));
  Array sum = lax::add(product, lax::mul(c, number(options.beta, c.dtype())));
  if (!options.symmetrize_output) return sum;
  return lax::add(numpy::tril(sum), transposed(numpy::tril(sum, -1)));
}

Array cholesky_update(const Array& r, const Array& w) {
  check_square("cholesky_update", r);
  check_real("cholesky_update", r);
  const int64_t n = rows(r);
  if (w.dtype() != r.dtype() || !std::ranges::equal(w.shape(), r.shape().first(r.rank() - 1))) {
    invalid_argument(
        fmt::format("cholesky_update: w must be a vector for each matrix of r {}, of "
                    "its dtype; got {}",
                    r.type().to_string(), w.type().to_string()));
  }
  // Step i rotates row i of r and w such that element i of w becomes zero.
  const Array places = lax::iota(DType::kInt32, {n}, 0);
  const auto rotate = [&](const Array& i, std::span<const Array> state) {
    const Array &factor = state[0], &rest = state[1];
    const Array is_row = as_column(numpy::equal(places, i));
    const Array row = numpy::take(factor, {numpy::Ellipsis{}, i, numpy::Slice{}});
    const Array pivot = as_column(numpy::take(row, {numpy::Ellipsis{}, i}));
    const Array value = as_column(numpy::take(rest, {numpy::Ellipsis{}, i}));
    const Array length = lax::abs(lax::complex(pivot, value));
    const Array is_zero = numpy::equal(length, 0);
    const Array cosine = numpy::where(is_zero, 1, pivot / length);
    const Array sine = numpy::where(is_zero, 0, value / length);
    const Array updated = cosine * row + sine * rest;
    return std::vector<Array>{numpy::where(is_row, as_row(updated), factor),
                              cosine * rest - sine * row};
  };
  const Array start[] = {r, w};
  return numpy::triu(lax::fori_loop(0, n, rotate, start)[0]);
}

namespace {

// The factors of one step of Halley's iteration, weighted for singular values of at least `least`:
// x (a + b x^H x) (1 + c x^H x)^-1. (Y. Nakatsukasa, Z. Bai and F. Gygi, Optimizing Halley's
// iteration for computing the matrix polar decomposition, 2010, equation 3.)
struct Weights {
  Array a, b, c;
};
Weights weights_for(const Array& least) {
  const Array square = least * least;
  const Array d = numpy::cbrt(4 * (1 - square) / (square * square));
  const Array root = numpy::sqrt(1 + d);
  const Array a = root + numpy::sqrt(8 - 4 * d + 8 * (2 - square) / (square * root)) / 2;
  const Array b = (a - 1) * (a - 1) / 4;
  return {a, b, a + b - 1};
}

// One step by a QR decomposition, which is stable for all weights.
Array halley_step(const Array& x, const Weights& w) {
  const int64_t m = rows(x), n = columns(x);
  const auto as = [&](const Array& weight) { return numpy::astype(weight, x.dtype()); };
  const Array root = numpy::sqrt(w.c);
  const Array parts[] = {as(root) * x, eye(n, x.dtype())};
  const Array q = qr(numpy::concatenate(parts, 0), /*full_matrices=*/false).q;
  const Array product = matmul(row_block(q, 0, m), adjoint(row_block(q, m, m + n)));
  return as(w.b / w.c) * x + as((w.a - w.b / w.c) / root) * product;
}

}  // namespace

PolarIteration qdwh(const Array& x, const QdwhOptions& options) {
  check_matrices("qdwh", x);
  if (x.rank() != 2 || rows(x) < columns(x)) {
    invalid_argument(
        fmt::format("qdwh: takes one matrix with at least as many rows as columns, "
                    "got {}",
                    x.type().to_string()));
  }
  const DType real = real_dtype(x.dtype());
  const double eps = options.eps.value_or(epsilon(x.dtype()));
  const int64_t most = options.max_iterations.value_or(10);
  const auto norm = [](const Array& y) {
    return numpy::sqrt(numpy::sum(numpy::square(numpy::absolute(y))));
  };
  const auto goes_on = [&](std::span<const Array> state) {
    return std::vector<Array>{lax::bitwise_and(state[3], numpy::less(state[2], most))};
  };
  const auto body = [&](std::span<const Array> state) {
    const Weights w = weights_for(state[1]);
    const Array next = halley_step(state[0], w), square = state[1] * state[1];
    const Array least = numpy::minimum(state[1] * (w.a + w.b * square) / (1 + w.c * square), 1);
    const Array moves = numpy::greater(norm(next - state[0]), norm(next) * std::cbrt(4 * eps));
    const Array unsettled = numpy::greater(numpy::absolute(least - 1), 5 * eps);
    return std::vector<Array>{next, least, state[2] + number(1, DType::kInt32),
                              lax::bitwise_or(moves, unsettled)};
  };
  const Array size = norm(x);
  const Array scale = numpy::where(numpy::greater(size, 0), size, number(1, real));
  const Array start[] = {x / numpy::astype(scale, x.dtype()), number(epsilon(x.dtype()), real),
                         number(0, DType::kInt32), numpy::greater(size, 0)};
  const auto end = lax::while_loop(goes_on, body, start);
  return {end[0], symmetrized(matmul(adjoint(end[0]), x)), end[2], lax::bitwise_not(end[3])};
}

}  // namespace farcall::linalg
