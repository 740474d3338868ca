// Solving with LU factors: lu_solve, solve, inv.
#include <farcall/ffi.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/linalg/linalg.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/differentiate.h>

#include "linalg/batch.h"
#include "linalg/batch_loop.h"
#include "linalg/internal/arrays.h"
#include "linalg/lu_call.h"
#include "linalg/small.h"
#include "linalg/stack.h"
#include "linalg/target.h"

namespace farcall::linalg {
namespace {

constexpr Wanted kWanted[] = {{"operand a", Of::kMatrix, "nn"},
                              {"operand lu", Of::kMatrix, "nn"},
                              {"operand pivots", Of::kInt32, "n"},
                              {"operand b", Of::kMatrix, "nk"},
                              {"result x", Of::kMatrix, "nk", 3}};

// `a` itself is an operand only for the derivative.
ffi::Error solve_with_factors(ffi::AnyBuffer a, ffi::AnyBuffer lu, ffi::Buffer<ffi::S32> pivots,
                              ffi::AnyBuffer b, ffi::Result<ffi::AnyBuffer> x, ffi::ThreadPool pool,
                              bool transpose) {
  const ffi::AnyBuffer buffers[] = {a, lu, pivots, b, *x};
  const auto sizes = check_buffers(kWanted, buffers);
  if (sizes.has_error()) return sizes.error();
  if (ffi::Error error = check_indices("operand pivots", elements_of(pivots), (*sizes)['n']);
      error.failure()) {
    return error;
  }
  const int n = (*sizes)['n'], k = (*sizes)['k'];
  const auto op = transpose ? CblasTrans : CblasNoTrans;
  const lapack::Triangle lower = {CblasLeft, CblasLower, op, CblasUnit};
  const lapack::Triangle upper = {CblasLeft, CblasUpper, op, CblasNonUnit};
  return for_lapack_type(sizes->dtype, [&]<class T>() -> ffi::Error {
    T* out = x->reinterpret_data<T>();
    copy_unless_same(b.reinterpret_data<T>(), out, static_cast<int64_t>(b.element_count()));
    const SideParts sides(k, n);
    BatchLoop loop(pool, sizes->count * sides.num_parts(), cost_of(n, n, sides.size(0)),
                   !small::fits(n, k));
    return loop.run([&](int64_t step, size_t) {
      const int64_t i = step / sides.num_parts(), part = step % sides.num_parts();
      const int columns = sides.size(part);
      const T* matrix = lu.reinterpret_data<T>() + i * n * n;
      const int32_t* pivot = pivots.typed_data() + i * n;
      T* solution = out + i * n * k + sides.first(part);
      if (!transpose) exchange_rows(solution, k, columns, pivot, n, /*inverse=*/false);
      small::solve(transpose ? upper : lower, n, columns, matrix, n, solution, k);
      small::solve(transpose ? lower : upper, n, columns, matrix, n, solution, k);
      if (transpose) exchange_rows(solution, k, columns, pivot, n, /*inverse=*/true);
    });
  });
}

}  // namespace
}  // namespace farcall::linalg

FARCALL_DEFINE_HANDLER(farcall_lu_solve, farcall::linalg::solve_with_factors, "transpose");

namespace farcall::linalg {
namespace {

std::vector<ShapeDtype> shape(std::span<const ShapeDtype> operands, const Attributes&) {
  return {operands[3]};
}

// dx = a^-1 (db - da x)
JvpResults jvp(const TargetCall& call, std::span<const Array> primals,
               std::span<const Array> tangents) {
  const bool is_transposed = flag(call.attributes(), "transpose");
  const LuFactors factors = {primals[1], primals[2]};
  const Array x = solve_factored(primals[0], factors, primals[3], is_transposed);
  Array side = tangents[3];
  if (!tangents[0].is_null()) {
    const Array da = is_transposed ? transposed(tangents[0]) : tangents[0];
    side = add_tangents(side, lax::neg(matmul(da, x)));
  }
  if (side.is_null()) return {{x}, {Array()}};
  return {{x}, {solve_factored(primals[0], factors, side, is_transposed)}};
}

std::vector<Array> transpose(const TargetCall& call, std::span<const Array> operands,
                             std::span<const Array> cotangents) {
  const bool is_transposed = flag(call.attributes(), "transpose");
  std::vector<Array> results(operands.size());
  results[3] =
      solve_factored(operands[0], {operands[1], operands[2]}, cotangents[0], !is_transposed);
  return results;
}

BatchResults batch(const TargetCall& call, std::span<const Array> operands,
                   std::span<const int64_t> axes, const BatchAxis& axis) {
  const bool is_transposed = flag(call.attributes(), "transpose");
  return batch_system(operands, axes, axis, Sides::kColumns, [&](std::span<const Array> all) {
    return solve_factored(all[0], {all[1], all[2]}, all[3], is_transposed);
  });
}

const RegisterTarget kRegister(
    "farcall_lu_solve", farcall_lu_solve, 4,
    {.shape = shape, .jvp = jvp, .linear_in = {{3}}, .transpose = transpose, .batch = batch});

// Broadcasts x to the leading dimensions `batch`; its last `kept` dimensions stay.
Array stacked_like(const Array& x, std::span<const int64_t> batch, size_t kept) {
  Shape shape(batch.begin(), batch.end());
  shape.insert(shape.end(), x.shape().end() - static_cast<std::ptrdiff_t>(kept), x.shape().end());
  return numpy::broadcast_to(x, shape);
}

}  // namespace

Array solve_factored(const Array& a, const LuFactors& factors, const Array& b, bool transpose) {
  return call_target("farcall_lu_solve", shape, {a, factors.lu, factors.pivots, b},
                     {{"transpose", transpose}}, {.input_output_aliases = {{3, 0}}})[0];
}

Array lu_solve(const Array& lu, const Array& pivots, const Array& b, bool transpose) {
  check_square("lu_solve", lu);
  if (b.rank() + 1 == lu.rank()) {
    const int64_t last[] = {-1};
    return numpy::squeeze(lu_solve(lu, pivots, as_column(b), transpose),
                          std::vector<int64_t>(last, last + 1));
  }
  check_alike("lu_solve", lu, b);
  check_sizes("lu_solve", lu, b, rows(b));
  const TriangularOptions lower = {
      .left_side = true, .lower = true, .transpose_a = transpose, .unit_diagonal = true};
  const TriangularOptions upper = {.left_side = true, .transpose_a = transpose};
  if (transpose) {
    return exchange_rows(triangular_solve(lu, triangular_solve(lu, b, upper), lower), pivots,
                         /*inverse=*/true);
  }
  return triangular_solve(lu, triangular_solve(lu, exchange_rows(b, pivots), lower), upper);
}

Array solve(const Array& a, const Array& b) {
  check_square("solve", a);
  if (b.rank() == 0) {
    invalid_argument(fmt::format("solve: right-hand sides must be a vector or matrices, got {}",
                                 b.type().to_string()));
  }
  if (b.rank() == 1) {
    return numpy::squeeze(solve(a, as_column(b)), std::vector<int64_t>{-1});
  }
  check_sizes("solve", a, b, rows(b));
  if (a.dtype() != b.dtype()) {
    invalid_argument(fmt::format("solve: operands must have one dtype; got {}, {}",
                                 a.type().to_string(), b.type().to_string()));
  }
  const std::span<const int64_t> of_a = a.shape().first(a.rank() - 2);
  const std::span<const int64_t> of_b = b.shape().first(b.rank() - 2);
  const std::span<const int64_t> both[] = {of_a, of_b};
  const Shape batch = numpy::broadcast_shapes(both);
  const auto [factors, pivots] = factor_lu(lax::stop_gradient(a));
  return solve_factored(stacked_like(a, batch, 2),
                        {stacked_like(factors, batch, 2), stacked_like(pivots, batch, 1)},
                        stacked_like(b, batch, 2), /*transpose=*/false);
}

Array inv(const Array& a) {
  check_square("inv", a);
  return solve(a, numpy::broadcast_to(eye(rows(a), a.dtype()), a.shape()));
}

}  // namespace farcall::linalg
