// det and slogdet.
#include <farcall/linalg/linalg.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/custom.h>
#include <farcall/trace/differentiate.h>

#include "linalg/arrays.h"
#include "linalg/lu_call.h"

namespace farcall::linalg {
namespace {

const std::vector<int64_t> kLastAxis = {-1};

// Of a vector of each matrix: the product of its elements.
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

// The determinant of the columns j and k of the last two rows of three.
Array minor_of_three(const Array& x, int64_t j, int64_t k) {
  return element(x, 1, j) * element(x, 2, k) - element(x, 1, k) * element(x, 2, j);
}

// adj(U) c for upper triangular U, of which only the last element on the diagonal may be 0: with
// the determinant d of the block before it, the last row is d c_n, and the rows before solve U_1
// y_1 = det(U) c_1 - u y_n.
Array adjugate_times(const Array& u, const Array& c) {
  const int64_t n = rows(u);
  const Array values = diagonal(u);
  const auto size = static_cast<int64_t>(values.rank());
  std::vector<int64_t> starts(values.rank(), 0), ends(values.shape().begin(), values.shape().end());
  --ends[static_cast<size_t>(size - 1)];
  const Array before = product(lax::slice(values, starts, ends));
  const Array all = product(values);

  const auto per_matrix = [](const Array& x) { return as_column(as_column(x)); };
  const Array last = row_block(c, n - 1, n) * per_matrix(before);
  const Array sides = row_block(c, 0, n - 1) * per_matrix(all) -
                      matmul(row_block(column_block(u, n - 1, n), 0, n - 1), last);
  const Array first =
      triangular_solve(row_block(column_block(u, 0, n - 1), 0, n - 1), sides, {.left_side = true});
  const Array parts[] = {first, last};
  return numpy::concatenate(parts, -2);
}

struct Factored {
  LuFactors factors;
  Array det;
};
Factored factored_det(const Array& a) {
  const LuFactors factors = factor_lu(a);
  return {factors, product(diagonal(factors.lu)) * parity(factors.pivots, a.dtype())};
}

// d det = tr(adj(A) dA), and adj(A) = +-adj(U) L^-1 P.
JvpResults det_jvp(std::span<const Array> primals, std::span<const Array> tangents) {
  const Array& a = primals[0];
  const auto [factors, value] = factored_det(a);
  const Array c = triangular_solve(factors.lu, exchange_rows(tangents[0], factors.pivots),
                                   {.left_side = true, .lower = true, .unit_diagonal = true});
  const Array tangent = trace(adjugate_times(factors.lu, c)) * parity(factors.pivots, a.dtype());
  return {{value}, {tangent}};
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
      return std::vector<Array>{factored_det(x[0]).det};
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
