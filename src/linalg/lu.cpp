// lu: factorization with row exchanges.
#include <farcall/ffi.h>

#include <algorithm>

#include <farcall/linalg/linalg.h>
#include <farcall/ops/lax.h>

#include "linalg/batch_loop.h"
#include "linalg/internal/arrays.h"
#include "linalg/lu_call.h"
#include "linalg/small.h"
#include "linalg/stack.h"
#include "linalg/target.h"

namespace farcall::linalg {
namespace {

// Matrices are column-major here: factoring the transpose would exchange columns.
constexpr Wanted kWanted[] = {{"operand a", Of::kMatrix, "mn"},
                              {"result lu", Of::kMatrix, "mn", 0},
                              {"result pivots", Of::kInt32, "p"}};

ffi::Error factor(ffi::AnyBuffer a, ffi::Result<ffi::AnyBuffer> lu,
                  ffi::ResultBuffer<ffi::S32> pivots, ffi::ThreadPool pool) {
  const ffi::AnyBuffer buffers[] = {a, *lu, *pivots};
  const auto sizes = check_buffers(kWanted, buffers);
  if (sizes.has_error()) return sizes.error();
  const int m = (*sizes)['m'], n = (*sizes)['n'], k = (*sizes)['p'];
  const int64_t size = int64_t{m} * n;
  return for_lapack_type(sizes->dtype, [&]<class T>() -> ffi::Error {
    T* matrices = lu->reinterpret_data<T>();
    copy_unless_same(a.reinterpret_data<T>(), matrices, static_cast<int64_t>(a.element_count()));
    const bool is_small = small::fits(m, n);
    BatchLoop loop(pool, sizes->count, cost_of(m, n, k) / 3, !is_small);
    return loop.run([&](int64_t i, size_t) {
      T* matrix = matrices + i * size;
      int32_t* pivot = pivots->typed_data() + i * k;
      if (is_small) return small::factor_lu(m, n, matrix, pivot);
      // info > 0 means a zero on the diagonal of U, which is a valid result.
      if (lapack::getrf(m, n, matrix, m, pivot) < 0) {
        fill_nan(matrix, size);
        std::fill_n(pivot, k, 1);
      }
      for (int row = 0; row < k; ++row) --pivot[row];
    });
  });
}

}  // namespace
}  // namespace farcall::linalg

FARCALL_DEFINE_HANDLER(farcall_getrf, farcall::linalg::factor);

namespace farcall::linalg {
namespace {

std::vector<ShapeDtype> shape(std::span<const ShapeDtype> operands, const Attributes&) {
  const auto dims = operands[0].shape();
  const int64_t k = std::min(dims[dims.size() - 1], dims[dims.size() - 2]);
  return {operands[0], {DType::kInt32, with_last(operands[0], 2, {k})}};
}

// Zeros with this many rows and columns and the leading dimensions of x.
Array zeros_beside(const Array& x, int64_t num_rows, int64_t num_columns) {
  return numpy::zeros(with_last(x.type(), 2, {num_rows, num_columns}), x.dtype());
}

// With L and U completed to square matrices and C = L^-1 P dA U^-1: dL = L times the strictly lower
// part of C, dU = the upper part of C times U.
JvpResults jvp(const TargetCall&, std::span<const Array> primals, std::span<const Array> tangents) {
  const auto [factors, pivots] = factor_lu(primals[0]);
  const int64_t m = rows(factors), n = columns(factors), k = std::min(m, n);
  const Array parts_of_l[] = {column_block(numpy::tril(factors, -1), 0, k),
                              zeros_beside(factors, m, m - k)};
  const Array l = numpy::concatenate(parts_of_l, -1) + eye(m, factors.dtype());
  const Array below = numpy::broadcast_to(row_block(eye(n, factors.dtype()), k, n),
                                          with_last(factors.type(), 2, {n - k, n}));
  const Array parts_of_u[] = {row_block(numpy::triu(factors), 0, k), below};
  const Array u = numpy::concatenate(parts_of_u, -2);

  const Array left = triangular_solve(l, exchange_rows(tangents[0], pivots),
                                      {.left_side = true, .lower = true, .unit_diagonal = true});
  const Array c = triangular_solve(u, left, {});
  const Array d = lax::add(matmul(l, numpy::tril(c, -1)), matmul(numpy::triu(c), u));
  return {{factors, pivots}, {d, Array()}};
}

const RegisterTarget kRegister("farcall_getrf", farcall_getrf, 1,
                               {.shape = shape, .jvp = jvp, .vmap_method = "broadcast_all"});

}  // namespace

LuFactors factor_lu(const Array& x) {
  const auto layout = column_major(x.rank());
  const auto results = call_target("farcall_getrf", shape, {x}, {},
                                   {.input_layouts = {{layout}},
                                    .output_layouts = {{layout, std::nullopt}},
                                    .input_output_aliases = {{0, 0}}});
  return {results[0], results[1]};
}

Lu lu(const Array& x) {
  check_matrices("lu", x);
  const auto [factors, pivots] = factor_lu(x);
  return {factors, pivots, lu_pivots_to_permutation(pivots, rows(x))};
}

}  // namespace farcall::linalg
