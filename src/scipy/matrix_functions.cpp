// Functions of matrices that go by way of the Schur form.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/linalg/linalg.h>
#include <farcall/numpy/matrices.h>
#include <farcall/numpy/reductions.h>
#include <farcall/ops/control_flow.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/scipy/linalg.h>

#include "linalg/internal/arrays.h"
#include "linalg/internal/epsilon.h"
#include "numpy/internal/linalg.h"

namespace farcall::scipy::linalg {
namespace {

namespace strict = farcall::linalg;
using numpy::matmul;
using numpy::linalg::strong_inexact;

// How far each element of n x n matrices lies right of the diagonal.
Array distances(int64_t n) {
  return lax::iota(DType::kInt32, {n, n}, 1) - lax::iota(DType::kInt32, {n, n}, 0);
}

// The square root of upper triangular matrices, one diagonal after the other: what the diagonal
// lacks are products of earlier ones.
Array triangular_root(const Array& t) {
  const int64_t n = strict::rows(t);
  const Array roots = numpy::sqrt(strict::diagonal(t));
  const Array sums = numpy::expand_dims(roots, {-1}) + numpy::expand_dims(roots, {-2});
  const Array distance = distances(n);
  const Array start = numpy::where(numpy::equal(distance, 0), numpy::expand_dims(roots, {-1}), 0);
  const auto add = [&](const Array& i, std::span<const Array> state) {
    const Array rest = t - matmul(state[0], state[0]);
    const Array quotient = numpy::where(numpy::equal(rest, 0), 0, rest / sums);
    return std::vector<Array>{numpy::where(numpy::equal(distance, i + 1), quotient, state[0])};
  };
  return lax::fori_loop(0, std::max<int64_t>(n - 1, 0), add, {&start, 1})[0];
}

}  // namespace

Array sqrtm(const Array& a) {
  strict::check_square("sqrtm", strong_inexact(a, "sqrtm"));
  const auto [t, z] = schur(a, /*as_complex=*/true);
  return matmul(matmul(z, triangular_root(t)), strict::adjoint(z));
}

Array solve_sylvester(const Array& a_in, const Array& b_in, const Array& c_in, double tol) {
  const auto [a, b] = strong_inexact(a_in, b_in, "solve_sylvester");
  const auto [first, c] = strong_inexact(a, c_in, "solve_sylvester");
  const Array second = numpy::astype(b, first.dtype());
  strict::check_square("solve_sylvester", first);
  strict::check_square("solve_sylvester", second);
  if (c.rank() < 2 || strict::rows(c) != strict::rows(a) || strict::columns(c) != strict::rows(b)) {
    invalid_argument(
        fmt::format("solve_sylvester: needs matrices [m,m], [n,n] and [m,n], got {}, "
                    "{} and {}",
                    a.type().to_string(), b.type().to_string(), c.type().to_string()));
  }
  const farcall::linalg::Schur left = schur(first, /*as_complex=*/true);
  const farcall::linalg::Schur other = schur(second, /*as_complex=*/true);
  const Array &r = left.t, &u = left.q, &s = other.t, &v = other.q;
  const int64_t m = strict::rows(r), n = strict::rows(s);
  const Array right = matmul(matmul(strict::adjoint(u), numpy::astype(c, u.dtype())), v);
  const Array identity = strict::eye(m, r.dtype());
  // Column k of the solution in the bases of both Schur forms, from the columns before it.
  const auto column = [&](const Array& k, std::span<const Array> state) {
    const auto at = [&](const Array& x) { return numpy::take(x, {numpy::Ellipsis{}, k}); };
    const Array factors = at(s);
    const Array known = strict::as_column(at(right)) - matmul(state[0], strict::as_column(factors));
    const Array shifted = r + identity * numpy::expand_dims(at(factors), {-1, -2});
    const Array is_here = numpy::equal(lax::iota(DType::kInt32, {m, n}, 1), k);
    return std::vector<Array>{numpy::where(is_here, solve_triangular(shifted, known), state[0])};
  };
  const Array start = numpy::zeros_like(right);
  const Array found = lax::fori_loop(0, n, column, {&start, 1})[0];
  const Array x = matmul(matmul(u, found), strict::adjoint(v));
  const Array sums =
      numpy::expand_dims(strict::diagonal(r), {-1}) + numpy::expand_dims(strict::diagonal(s), {-2});
  const Array is_singular =
      numpy::any(numpy::less(numpy::absolute(sums), tol), numpy::Axes{-2, -1}, /*keepdims=*/true);
  return numpy::where(is_singular, std::numeric_limits<double>::quiet_NaN(),
                      is_complex(first.dtype()) ? x : numpy::real(x));
}

// With F T = T F for triangular T, one diagonal of F after the other follows from earlier ones.
// (B. Parlett, A recurrence among the elements of functions of triangular matrices, 1976.)
MatrixFunction funm(const Array& t, const Array& z, const Array& values) {
  const int64_t n = strict::rows(t);
  const DType real = strict::real_dtype(t.dtype());
  const Array diagonal = strict::diagonal(t), distance = distances(n);
  const Array gaps = strict::as_row(diagonal) - strict::as_column(diagonal);
  const Array divisor = numpy::where(numpy::equal(gaps, 0), 1, gaps);
  const Array given = strict::as_column(numpy::astype(values, t.dtype()));
  const Array start = numpy::where(numpy::equal(distance, 0), given, 0);
  const auto add = [&](const Array& i, std::span<const Array> state) {
    const Array next = (matmul(t, state[0]) - matmul(state[0], t)) / divisor;
    return std::vector<Array>{numpy::where(numpy::equal(distance, i + 1), next, state[0])};
  };
  const Array f = lax::fori_loop(0, std::max<int64_t>(n - 1, 0), add, {&start, 1})[0];
  const Array above = numpy::absolute(numpy::triu(t, 1));
  const Array eps = strict::number(strict::epsilon(t.dtype()), real);
  const Array infinity = strict::number(std::numeric_limits<double>::infinity(), real);
  const Array smallest =
      numpy::min(numpy::where(numpy::greater(distance, 0), numpy::absolute(gaps), infinity), {},
                 {.initial = infinity});
  const Array gap = numpy::where(numpy::equal(smallest, 0), eps, smallest);
  const Array norm = numpy::max(numpy::sum(above, -2), {}, {.initial = strict::number(0, real)});
  const Array error = numpy::minimum(1, numpy::maximum(eps, eps / gap * norm));
  return {matmul(matmul(z, f), strict::adjoint(z)), error};
}

// Each diagonal block of size two, from the last one, is made triangular by a rotation.
farcall::linalg::Schur rsf2csf(const Array& t_in, const Array& z_in) {
  const auto [t_given, z_given] = strong_inexact(t_in, z_in, "rsf2csf");
  strict::check_square("rsf2csf", t_given);
  strict::check_square("rsf2csf", z_given);
  const int64_t n = strict::rows(t_given);
  if (strict::rows(z_given) != n) {
    invalid_argument(fmt::format("rsf2csf: T and Z must be of one size, got {} and {}",
                                 t_given.type().to_string(), z_given.type().to_string()));
  }
  const std::span<const int64_t> shapes[] = {t_given.shape(), z_given.shape()};
  const Shape shape = with_error_prefix("rsf2csf", [&] { return numpy::broadcast_shapes(shapes); });
  const DType dtype = strict::complex_dtype(t_given.dtype());
  const auto wide = [&](const Array& x) {
    return numpy::astype(numpy::broadcast_to(x, shape), dtype);
  };
  const double eps = strict::epsilon(dtype);
  const Array places = lax::iota(DType::kInt32, {n}, 0);
  // Step i treats rows and columns m - 1 and m.
  const auto rotate = [&](const Array& i, std::span<const Array> state) {
    const Array &t = state[0], &z = state[1];
    const Array m = (n - 1) - i, before = m - 1;
    const auto at = [&](const Array& row, const Array& column) {
      return numpy::take(t, {numpy::Ellipsis{}, row, column});
    };
    const Array a = at(before, before), b = at(before, m), c = at(m, before), d = at(m, m);
    const Array half = (a - d) / 2;
    const Array shift = half + numpy::sqrt(half * half + b * c);  // an eigenvalue less d
    const Array length = lax::abs(lax::complex(numpy::absolute(shift), numpy::absolute(c)));
    const Array is_block =
        numpy::greater(numpy::absolute(c), eps * (numpy::absolute(a) + numpy::absolute(d)));
    const Array divisor = numpy::astype(numpy::where(is_block, length, 1), dtype);
    const auto as_element = [](const Array& x) { return numpy::expand_dims(x, {-1, -2}); };
    const Array cosine = as_element(numpy::where(is_block, shift / divisor, 1));
    const Array sine = as_element(numpy::where(is_block, c / divisor, 0));
    const Array is_first = numpy::equal(places, before), is_second = numpy::equal(places, m);
    const auto turn_rows = [&](const Array& x) {
      const auto row = [&](const Array& place) {
        return strict::as_row(numpy::take(x, {numpy::Ellipsis{}, place, numpy::Slice{}}));
      };
      const Array first = row(before), second = row(m);
      const Array below =
          numpy::where(strict::as_column(is_second), cosine * second - sine * first, x);
      return numpy::where(strict::as_column(is_first),
                          numpy::conjugate(cosine) * first + numpy::conjugate(sine) * second,
                          below);
    };
    const auto turn_columns = [&](const Array& x) {
      return strict::adjoint(turn_rows(strict::adjoint(x)));
    };
    return std::vector<Array>{turn_columns(turn_rows(t)), turn_columns(z)};
  };
  const Array start[] = {wide(t_given), wide(z_given)};
  const auto end = lax::fori_loop(0, std::max<int64_t>(n - 1, 0), rotate, start);
  return {numpy::triu(end[0]), end[1]};
}

UnitaryForm hessenberg(const Array& a_in) {
  const auto [a, taus] = strict::hessenberg(strong_inexact(a_in, "hessenberg"));
  const int64_t n = strict::rows(a);
  Array q = strict::eye(n, a.dtype());
  if (n > 1) {
    const Array reflections = strict::column_block(strict::row_block(a, 1, n), 0, n - 1);
    const Array inner = strict::householder_product(reflections, taus);
    numpy::PadWidths edges(a.rank());
    edges[a.rank() - 2] = edges[a.rank() - 1] = {1, 0};
    const Array is_inner = numpy::pad(numpy::ones_like(inner), edges, Array(0));
    q = numpy::where(is_inner, numpy::pad(inner, edges, Array(0)), q);
  }
  return {numpy::triu(a, -1), numpy::broadcast_to(q, a.shape())};
}

farcall::linalg::Eigh eigh_tridiagonal(const Array& d_in, const Array& e_in,
                                       const farcall::linalg::Subset& subset) {
  const auto [d, e] = strong_inexact(d_in, e_in, "eigh_tridiagonal");
  if (d.rank() != 1 || e.rank() != 1 || d.size() != e.size() + 1) {
    invalid_argument(
        fmt::format("eigh_tridiagonal: d must be a vector, and e one with an element "
                    "less; got {} and {}",
                    d.type().to_string(), e.type().to_string()));
  }
  const Array t = numpy::diag(d) + numpy::diag(e, 1);
  return strict::eigh(t, /*lower=*/false, /*symmetrize_input=*/false, subset);
}

}  // namespace farcall::scipy::linalg
