// det and slogdet.
#include <array>

#include <farcall/linalg/linalg.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/custom.h>
#include <farcall/trace/differentiate.h>

#include "linalg/internal/arrays.h"
#include "linalg/lu_call.h"

namespace farcall::linalg {
namespace {

const std::vector<int64_t> kLastAxis = {-1};

// The product of the elements of the last dimension.
Array product(const Array& x) { return numpy::prod(x, kLastAxis); }

// -1 for an odd number of row exchanges, else 1.
Array parity(const Array& pivots, DType dtype) {
  const int64_t size[] = {pivots.shape().back()};
  const Array exchanged = numpy::not_equal(pivots, lax::iota(DType::kInt32, size, 0));
  return product(numpy::where(exchanged, number(-1, dtype), number(1, dtype)));
}

Array trace(const Array& x) { return numpy::sum(diagonal(x), kLastAxis); }

Array element(const Array& x, int64_t row, int64_t column) {
  const numpy::Index place[] = {numpy::Ellipsis{}, row, column};
  return numpy::take(x, place);
}

// The minor of columns j and k in the last two of three rows.
Array minor_of_three(const Array& x, int64_t j, int64_t k) {
  return element(x, 1, j) * element(x, 2, k) - element(x, 1, k) * element(x, 2, j);
}

Array factored_det(const LuFactors& factors) {
  return product(diagonal(factors.lu)) * parity(factors.pivots, factors.lu.dtype());
}

// ---- the derivative of det

// The number of (nearly) zero pivots for which det has correct derivatives. With more zero pivots,
// all its derivatives up to this order are zero.
constexpr int64_t kMostZeros = 4;

// The determinant of matrices with kMostZeros rows, as a polynomial.
Array small_det(const Array& x) {
  const auto minor = [&](int64_t row, int64_t j, int64_t k) {
    return element(x, row, j) * element(x, row + 1, k) -
           element(x, row, k) * element(x, row + 1, j);
  };
  return minor(0, 0, 1) * minor(2, 2, 3) - minor(0, 0, 2) * minor(2, 1, 3) +
         minor(0, 0, 3) * minor(2, 1, 2) + minor(0, 1, 2) * minor(2, 0, 3) -
         minor(0, 1, 3) * minor(2, 0, 2) + minor(0, 2, 3) * minor(2, 0, 1);
}

// A regular matrix B = A + U V^T near A, which may be singular: U V^T enlarges the pivots of A that
// are nearly zero. All except A are constants.
struct Regularized {
  Array matrix;  // B
  Array added;   // U, kMostZeros columns
  Array chosen;  // V; each column selects one of the smallest pivots
  Array factor;  // 1, or 0 if more than kMostZeros pivots are zero
};
Regularized regularized(const Array& a) {
  const int64_t n = rows(a);
  const DType real = real_dtype(a.dtype());
  const auto [lu, pivots] = factor_lu(lax::stop_gradient(a));
  const Array sizes = numpy::absolute(diagonal(lu));
  const Array largest = numpy::max(sizes, kLastAxis, /*keepdims=*/true);
  const Array scale =
      numpy::where(numpy::equal(largest, number(0, real)), number(1, real), largest);
  const double tolerance = real == DType::kFloat64 ? 1e-8 : 1e-4;
  const Array is_zero = numpy::less_equal(sizes, scale * number(tolerance, real));
  const Array shifts = numpy::astype(numpy::where(is_zero, scale, number(0, real)), a.dtype());

  // P^T L: adding a multiple of its column j changes pivot j.
  const Array lower = numpy::tril(lu, -1) + eye(n, a.dtype());
  const Array columns_of_pivots = exchange_rows(lower, pivots, /*inverse=*/true) * as_row(shifts);

  const Array order = column_block(as_row(numpy::argsort(sizes, -1)), 0, kMostZeros);
  const Array places = as_column(lax::iota(DType::kInt32, std::array{n}, 0));
  const Array chosen = numpy::astype(numpy::equal(places, order), a.dtype());
  const Array count = numpy::sum(is_zero, kLastAxis);
  const Array factor =
      numpy::astype(numpy::less_equal(count, number(kMostZeros, DType::kInt32)), a.dtype());
  return {a + columns_of_pivots, matmul(columns_of_pivots, chosen), chosen, factor};
}

// det A = det(B) det(S) with S = 1 - V^T B^-1 U, by the matrix determinant lemma. B is regular, so
// this can be differentiated any number of times.
JvpResults det_jvp(std::span<const Array> primals, std::span<const Array> tangents) {
  const auto [b, added, chosen, factor] = regularized(primals[0]);
  const LuFactors factors = factor_lu(lax::stop_gradient(b));
  const Array x = solve_factored(b, factors, added, /*transpose=*/false);
  const Array change = solve_factored(b, factors, tangents[0], /*transpose=*/false);
  const Array v = transposed(chosen);
  const Array s[] = {eye(kMostZeros, b.dtype()) - matmul(v, x)};
  const Array change_of_s[] = {matmul(v, matmul(change, x))};
  const FlatFunction small = [](std::span<const Array> inputs) {
    return std::vector<Array>{small_det(inputs[0])};
  };
  const JvpResults of_s = jvp(small, s, change_of_s);
  const Array tangent = det(b) * (trace(change) * of_s.primals[0] + of_s.tangents[0]) * factor;
  return {{det(primals[0])}, {tangent}};
}

std::vector<Array> slogdet_of(const Array& a) {
  const auto [lu, pivots] = factor_lu(a);
  const Array values = diagonal(lu);
  const Array sign = product(lax::sign(values)) * parity(pivots, a.dtype());
  return {sign, numpy::sum(lax::log(lax::abs(values)), kLastAxis)};
}

// d log |det| + i d arg(det) = tr(A^-1 dA).
JvpResults slogdet_jvp(std::span<const Array> primals, std::span<const Array> tangents) {
  const auto results = slogdet_of(primals[0]);
  const Array change = trace(solve(primals[0], tangents[0]));
  if (!is_complex(change.dtype())) return {results, {Array(), change}};
  const Array turn = lax::complex(number(0, real_dtype(change.dtype())), lax::imag(change));
  return {results, {results[0] * turn, lax::real(change)}};
}

}  // namespace

Array det(const Array& a) {
  check_square("det", a);
  switch (rows(a)) {
    case 0:
      return numpy::ones(with_last(a.type(), 2, {}), a.dtype());
    case 1:
      return element(a, 0, 0);
    case 2:
      return element(a, 0, 0) * element(a, 1, 1) - element(a, 0, 1) * element(a, 1, 0);
    case 3:
      return element(a, 0, 0) * minor_of_three(a, 1, 2) -
             element(a, 0, 1) * minor_of_three(a, 0, 2) +
             element(a, 0, 2) * minor_of_three(a, 0, 1);
    default:
      break;
  }
  static const auto kCall = [] {
    auto call = std::make_shared<CustomCall>();
    call->name = "det";
    call->function = [](std::span<const Array> x) {
      return std::vector<Array>{factored_det(factor_lu(x[0]))};
    };
    call->jvp = det_jvp;
    return call;
  }();
  return call_custom(kCall, std::span(&a, 1))[0];
}

SlogDet slogdet(const Array& a) {
  check_square("slogdet", a);
  static const auto kCall = [] {
    auto call = std::make_shared<CustomCall>();
    call->name = "slogdet";
    call->function = [](std::span<const Array> x) { return slogdet_of(x[0]); };
    call->jvp = slogdet_jvp;
    return call;
  }();
  const auto results = call_custom(kCall, std::span(&a, 1));
  return {results[0], results[1]};
}

}  // namespace farcall::linalg
