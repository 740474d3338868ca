#include <farcall/scipy/linalg.h>

#include <algorithm>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/numpy/linalg.h>
#include <farcall/ops/control_flow.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/trace/differentiate.h>

#include "linalg/internal/arrays.h"
#include "numpy/internal/linalg.h"
#include "ops/internal/numpy.h"

namespace farcall::scipy::linalg {
namespace {

namespace strict = farcall::linalg;
using numpy::matmul;
using numpy::linalg::strong_inexact;
using strict::columns;
using strict::rows;

// Solves for one or more right-hand sides; the leading dimensions of both are broadcast.
Array solve_triangle(const Array& a, const Array& b, strict::TriangularOptions options,
                     const char* function) {
  if (b.rank() == 1) {
    const Array column = solve_triangle(a, strict::as_column(b), options, function);
    return numpy::take(column, {numpy::Ellipsis{}, 0});
  }
  strict::check_matrices(function, a);
  const auto leading = [](const Array& x) {
    return x.shape().first(x.rank() - std::min<size_t>(x.rank(), 2));
  };
  const std::span<const int64_t> shapes[] = {leading(a), leading(b)};
  const Shape batch = with_error_prefix(function, [&] { return numpy::broadcast_shapes(shapes); });
  const auto broadcast = [&](const Array& x) {
    Shape shape = batch;
    const auto own = x.shape().subspan(leading(x).size());
    shape.insert(shape.end(), own.begin(), own.end());
    return numpy::broadcast_to(x, shape);
  };
  options.left_side = true;
  return strict::triangular_solve(broadcast(a), broadcast(b), options);
}

// N. Higham, The scaling and squaring method for the matrix exponential revisited, 2005: the
// coefficients of the Padé approximants of degree 7 and 13, and the norms up to which they are
// accurate.
constexpr int64_t kSinglePade[] = {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1};
constexpr double kSingleNorm = 3.925724783138660;
constexpr int64_t kDoublePade[] = {64764752532480000,
                                   32382376266240000,
                                   7771770303897600,
                                   1187353796428800,
                                   129060195264000,
                                   10559470521600,
                                   670442572800,
                                   33522128640,
                                   1323241920,
                                   40840800,
                                   960960,
                                   16380,
                                   182,
                                   1};
constexpr double kDoubleNorm = 5.371920351148152;

Array pade(const Array& a, std::span<const int64_t> coefficients, bool upper_triangular) {
  const Array identity = numpy::eye(columns(a), {}, a.dtype());
  const Array square = matmul(a, a);
  Array even = coefficients[0] * identity, odd = coefficients[1] * identity, power = square;
  for (size_t i = 2; i < coefficients.size(); i += 2) {
    even = even + coefficients[i] * power;
    odd = odd + coefficients[i + 1] * power;
    if (i + 2 < coefficients.size()) power = matmul(power, square);
  }
  odd = matmul(a, odd);
  const Array numerator = even + odd, denominator = even - odd;
  if (!upper_triangular) return strict::solve(denominator, numerator);
  return strict::triangular_solve(denominator, numerator, {.left_side = true});
}

}  // namespace

Array solve_triangular(const Array& a_in, const Array& b_in,
                       const SolveTriangularOptions& options) {
  const auto [a, b] = strong_inexact(a_in, b_in, "solve_triangular");
  return solve_triangle(a, b,
                        {.lower = options.lower,
                         .transpose_a = options.op != Op::kNone,
                         .conjugate_a = options.op == Op::kAdjoint,
                         .unit_diagonal = options.unit_diagonal},
                        "solve_triangular");
}

Array cho_solve(const Array& c_in, bool lower, const Array& b_in) {
  const auto [c, b] = strong_inexact(c_in, b_in, "cho_solve");
  const strict::TriangularOptions plain = {.lower = lower};
  const strict::TriangularOptions adjoint = {
      .lower = lower, .transpose_a = true, .conjugate_a = true};
  const Array half = solve_triangle(c, b, lower ? plain : adjoint, "cho_solve");
  return solve_triangle(c, half, lower ? adjoint : plain, "cho_solve");
}

strict::Lu lu_factor(const Array& a) { return strict::lu(strong_inexact(a, "lu_factor")); }

Array lu_solve(const Array& factors_in, const Array& pivots, const Array& b_in, Op op) {
  const auto [factors, b] = strong_inexact(factors_in, b_in, "lu_solve");
  if (op != Op::kAdjoint) return strict::lu_solve(factors, pivots, b, op == Op::kTranspose);
  const Array conjugated = numpy::conjugate(b);
  return numpy::conjugate(strict::lu_solve(factors, pivots, conjugated, /*transpose=*/true));
}

Plu lu(const Array& a) {
  const auto [factors, pivots, permutation] = strict::lu(strong_inexact(a, "lu"));
  const int64_t size = std::min(rows(factors), columns(factors));
  const Array l = numpy::tril(strict::column_block(factors, 0, size), -1) +
                  numpy::eye(rows(factors), size, factors.dtype());
  const Array u = numpy::triu(strict::row_block(factors, 0, size));
  const Array is_from =
      numpy::equal(strict::as_row(permutation), lax::iota(DType::kInt32, {rows(factors), 1}, 0));
  return {numpy::astype(is_from, strict::real_dtype(factors.dtype())), l, u};
}

OrderedQr qr(const Array& a, const QrOptions& options) {
  Array x = strong_inexact(a, "qr"), order;
  if (options.pivoting) {
    order = strict::qr_order(x);
    x = numpy::take_along_axis(x, strict::as_row(order), -1);
  }
  const auto [q, r] = strict::qr(x, options.full);
  return {q, r, order};
}

QrProduct qr_multiply(const Array& a_in, const Array& c_in, const QrMultiplyOptions& options) {
  const auto [a, c] = strong_inexact(a_in, c_in, "qr_multiply");
  strict::check_matrices("qr_multiply", a);
  const int64_t wanted = options.from_left ? std::min(rows(a), columns(a)) : rows(a);
  const bool is_vector = c.rank() == 1;
  const Array matrix = !is_vector          ? c
                       : options.from_left ? strict::as_column(c)
                                           : strict::as_row(c);
  if (matrix.rank() < 2 || (options.from_left ? rows(matrix) : columns(matrix)) != wanted) {
    invalid_argument(fmt::format("qr_multiply: c must have {} {} for a {}, got {}", wanted,
                                 options.from_left ? "rows" : "columns", a.type().to_string(),
                                 c.type().to_string()));
  }
  const auto [q, r, order] = qr(a, {.full = false, .pivoting = options.pivoting});
  const Array factor = options.conjugate ? numpy::conjugate(q) : q;
  const Array product = options.from_left ? matmul(factor, matrix) : matmul(matrix, factor);
  return {is_vector ? numpy::ravel(product) : product, r, order};
}

strict::Schur schur(const Array& a, bool as_complex) {
  const Array x = strong_inexact(a, "schur");
  if (!as_complex || is_complex(x.dtype())) return strict::schur(x);
  const bool is_double = x.dtype() == DType::kFloat64;
  return strict::schur(numpy::astype(x, is_double ? DType::kComplex128 : DType::kComplex64));
}

Array expm(const Array& a_in, const ExpmOptions& options) {
  Array a = strong_inexact(a_in, "expm");
  if (a.rank() < 2 || rows(a) != columns(a)) {
    invalid_argument(fmt::format("expm: needs square matrices, got {}", a.type().to_string()));
  }
  const bool is_double = strict::real_dtype(a.dtype()) == DType::kFloat64;
  const Array norm = numpy::max(numpy::sum(numpy::absolute(lax::stop_gradient(a)), -2), -1);
  const Array ratio =
      numpy::log(norm / (is_double ? kDoubleNorm : kSingleNorm)) / std::numbers::ln2;
  const Array squarings = numpy::expand_dims(numpy::maximum(numpy::ceil(ratio), 0), {-2, -1});
  const int64_t most = options.max_squarings;
  a = a * numpy::astype(numpy::exp2(-numpy::minimum(squarings, most)), a.dtype());
  const Array small = is_double ? pade(a, kDoublePade, options.upper_triangular)
                                : pade(a, kSinglePade, options.upper_triangular);
  const auto square = [&](std::span<const Array> carry, std::span<const Array> x) {
    const Array is_wanted = numpy::less(x[0], squarings);
    // Finished matrices are replaced by 0 before squaring, since their squares could overflow.
    const Array factor = numpy::where(is_wanted, carry[0], 0);
    return lax::LoopResults{{numpy::where(is_wanted, matmul(factor, factor), carry[0])}, {}};
  };
  const Array steps = numpy::arange(0, static_cast<double>(most), 1, DType::kFloat32);
  const Array result = lax::scan(square, {&small, 1}, {&steps, 1}).carry[0];
  const Array fits =
      numpy::logical_and(numpy::less_equal(squarings, most), numpy::isfinite(squarings));
  return numpy::where(fits, result, std::numeric_limits<double>::quiet_NaN());
}

std::pair<Array, Array> expm_frechet(const Array& a_in, const Array& e_in) {
  const auto [a, e] = strong_inexact(a_in, e_in, "expm_frechet");
  const auto function = [](std::span<const Array> inputs) {
    return std::vector<Array>{expm(inputs[0])};
  };
  const JvpResults found = jvp(function, {&a, 1}, {&e, 1});
  const Array& derivative = found.tangents[0];
  return {found.primals[0],
          derivative.is_null() ? numpy::zeros_like(found.primals[0]) : derivative};
}

}  // namespace farcall::scipy::linalg
