// Functions of matrices that go by way of the Schur form.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/linalg/linalg.h>
#include <farcall/ops/control_flow.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/scipy/linalg.h>

#include "linalg/internal/arrays.h"
#include "numpy/internal/linalg.h"

namespace farcall::scipy::linalg {
namespace {

namespace strict = farcall::linalg;
using numpy::matmul;
using numpy::linalg::strong_inexact;

// The square root of upper triangular matrices, one diagonal after the other: what the diagonal
// lacks are products of earlier ones.
Array triangular_root(const Array& t) {
  const int64_t n = strict::rows(t);
  const Array roots = numpy::sqrt(strict::diagonal(t));
  const Array sums = numpy::expand_dims(roots, {-1}) + numpy::expand_dims(roots, {-2});
  const Array distance = lax::iota(DType::kInt32, {n, n}, 1) - lax::iota(DType::kInt32, {n, n}, 0);
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

}  // namespace farcall::scipy::linalg
