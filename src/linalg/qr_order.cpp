// QR factorization with column pivoting, and the order of the columns.
#include <farcall/ffi.h>

#include <algorithm>
#include <numeric>

#include <farcall/linalg/linalg.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_indexing.h>

#include "linalg/batch_loop.h"
#include "linalg/internal/arrays.h"
#include "linalg/stack.h"
#include "linalg/target.h"

namespace farcall::linalg {
namespace {

constexpr Wanted kWanted[] = {{"operand a", Of::kMatrix, "mn"},
                              {"result columns", Of::kInt32, "n"}};

// Matrices are column-major here and are factored in scratch memory.
ffi::Error order(ffi::AnyBuffer a, ffi::ResultBuffer<ffi::S32> columns,
                 ffi::ScratchAllocator allocator, ffi::ThreadPool pool) {
  const ffi::AnyBuffer buffers[] = {a, *columns};
  const auto sizes = check_buffers(kWanted, buffers);
  if (sizes.has_error()) return sizes.error();
  const int m = (*sizes)['m'], n = (*sizes)['n'];
  const int64_t size = int64_t{m} * n, k = std::min(m, n);
  return for_lapack_type(sizes->dtype, [&]<class T>() -> ffi::Error {
    if (n == 0) return {};
    BatchLoop loop(pool, sizes->count, 2 * cost_of(m, n, k));
    Scratch scratch(allocator);
    T* matrices = scratch.take<T>(loop.num_workers() * size);
    T* taus = scratch.take<T>(loop.num_workers() * k);
    const auto run = [&](T* matrix, int32_t* numbers, T* tau, const lapack::Work<T>& w) {
      return lapack::geqp3(m, n, matrix, std::max(1, m), numbers, tau, w);
    };
    const auto works = scratch.works<T>(
        loop.num_workers(), 2 * int64_t{n}, 0,
        [&](const lapack::Work<T>& w) { return run(matrices, columns->typed_data(), taus, w); });
    if (scratch.error().failure()) return scratch.error();
    return loop.run([&](int64_t i, size_t worker) {
      T* matrix = matrices + static_cast<int64_t>(worker) * size;
      int32_t* numbers = columns->typed_data() + i * n;
      std::copy_n(a.reinterpret_data<T>() + i * size, size, matrix);
      std::fill_n(numbers, n, 0);  // 0: every column may move
      run(matrix, numbers, taus + static_cast<int64_t>(worker) * k, works[worker]);
      // For matrices without rows LAPACK returns without writing the order.
      if (m == 0) std::iota(numbers, numbers + n, 1);
      for (int column = 0; column < n; ++column) --numbers[column];
    });
  });
}

}  // namespace
}  // namespace farcall::linalg

FARCALL_DEFINE_HANDLER(farcall_geqp3, farcall::linalg::order);

namespace farcall::linalg {
namespace {

std::vector<ShapeDtype> shape(std::span<const ShapeDtype> operands, const Attributes&) {
  return {{DType::kInt32, with_last(operands[0], 2, {operands[0].shape().back()})}};
}

JvpResults jvp(const TargetCall&, std::span<const Array> primals, std::span<const Array>) {
  return {{qr_order(primals[0])}, {Array()}};
}

const RegisterTarget kRegister("farcall_geqp3", farcall_geqp3, 1,
                               {.shape = shape, .jvp = jvp, .vmap_method = "broadcast_all"});

}  // namespace

Array qr_order(const Array& x) {
  check_matrices("qr", x);
  return call_target("farcall_geqp3", shape, {x}, {},
                     {.input_layouts = {{column_major(x.rank())}}})[0];
}

PivotedQr pivoted_qr(const Array& x, bool full_matrices) {
  const Array order = qr_order(x);
  const auto [q, r] =
      qr(numpy::take_along_axis(x, numpy::expand_dims(order, {-2}), -1), full_matrices);
  return {q, r, order};
}

}  // namespace farcall::linalg
