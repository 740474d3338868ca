// The order of columns in which qr with exchanges takes them.
#include <farcall/ffi.h>

#include <algorithm>

#include <farcall/linalg/linalg.h>
#include <farcall/ops/lax.h>

#include "linalg/arrays.h"
#include "linalg/stack.h"
#include "linalg/target.h"

namespace farcall::linalg {
namespace {

// Matrices are column-major here, and factored in scratch memory.
ffi::Error order(ffi::AnyBuffer a, ffi::ResultBuffer<ffi::S32> columns,
                 ffi::ScratchAllocator allocator) {
  const auto stack = stack_of(a);
  if (stack.has_error()) return stack.error();
  const int m = stack->rows, n = stack->columns;
  if (ffi::Error error = check_result(*columns, a, {n}); error.failure()) return error;
  return for_lapack_type(a.element_type(), [&]<class T>() -> ffi::Error {
    int32_t* numbers = columns->typed_data();
    if (n == 0) return {};
    Scratch scratch(allocator);
    T* matrix = scratch.take<T>(stack->elements());
    T* tau = scratch.take<T>(std::min(m, n));
    const auto run = [&](const lapack::Work<T>& w) {
      return lapack::geqp3(m, n, matrix, std::max(1, m), numbers, tau, w);
    };
    const lapack::Work<T> work = scratch.work<T>(2 * int64_t{n}, 0, run);
    if (scratch.error().failure()) return scratch.error();
    const T* given = a.reinterpret_data<T>();
    for (int64_t i = 0; i < stack->count; ++i, given += stack->elements(), numbers += n) {
      std::copy_n(given, stack->elements(), matrix);
      std::fill_n(numbers, n, 0);  // any column may go anywhere
      run(work);
      for (int column = 0; column < n; ++column) --numbers[column];
    }
    return {};
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

const RegisterTarget kRegister("farcall_geqp3", farcall_geqp3,
                               {.shape = shape, .jvp = jvp, .vmap_method = "broadcast_all"});

}  // namespace

Array qr_order(const Array& x) {
  check_matrices("qr", x);
  return call_target("farcall_geqp3", shape, {x}, {},
                     {.input_layouts = {{column_major(x.rank())}}})[0];
}

}  // namespace farcall::linalg
