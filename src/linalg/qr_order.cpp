// QR factorization with column pivoting, and the order of the columns.
#include <farcall/ffi.h>

#include <algorithm>
#include <numeric>

#include <farcall/linalg/linalg.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_indexing.h>

#include "linalg/internal/arrays.h"
#include "linalg/stack.h"
#include "linalg/target.h"

namespace farcall::linalg {
namespace {

constexpr Wanted kWanted[] = {{"operand a", Of::kMatrix, "mn"},
                              {"result columns", Of::kInt32, "n"}};

// Matrices are column-major here and are factored in scratch memory.
ffi::Error order(ffi::AnyBuffer a, ffi::ResultBuffer<ffi::S32> columns,
                 ffi::ScratchAllocator allocator) {
  const ffi::AnyBuffer buffers[] = {a, *columns};
  const auto sizes = check_buffers(kWanted, buffers);
  if (sizes.has_error()) return sizes.error();
  const int m = (*sizes)['m'], n = (*sizes)['n'];
  const int64_t size = int64_t{m} * n;
  return for_lapack_type(sizes->dtype, [&]<class T>() -> ffi::Error {
    if (n == 0) return {};
    Scratch scratch(allocator);
    T* matrix = scratch.take<T>(size);
    T* tau = scratch.take<T>(std::min(m, n));
    int32_t* numbers = columns->typed_data();
    const auto run = [&](const lapack::Work<T>& w) {
      return lapack::geqp3(m, n, matrix, std::max(1, m), numbers, tau, w);
    };
    const lapack::Work<T> work = scratch.work<T>(2 * int64_t{n}, 0, run);
    if (scratch.error().failure()) return scratch.error();
    const T* given = a.reinterpret_data<T>();
    return for_each_matrix(sizes->count, [&](int64_t) {
      std::copy_n(given, size, matrix);
      std::fill_n(numbers, n, 0);  // 0: every column may move
      run(work);
      // For matrices without rows LAPACK returns without writing the order.
      if (m == 0) std::iota(numbers, numbers + n, 1);
      for (int column = 0; column < n; ++column) --numbers[column];
      given += size;
      numbers += n;
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
