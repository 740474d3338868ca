// hessenberg and tridiagonal: square matrices in simpler unitary bases, as Householder reflections.
#include <farcall/ffi.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <farcall/linalg/linalg.h>

#include "linalg/batch_loop.h"
#include "linalg/internal/arrays.h"
#include "linalg/stack.h"
#include "linalg/target.h"

namespace farcall::linalg {
namespace {

// One reflection less than columns.
ffi::Error check_reflections(int64_t count, int n) {
  if (count == std::max(0, n - 1)) return {};
  return ffi::Error::InvalidArgument(fmt::format(
      "matrices of {} rows have {} reflections, result taus has {}", n, std::max(0, n - 1), count));
}

// Matrices are column-major here, for both targets.
constexpr Wanted kHessenbergWanted[] = {{"operand a", Of::kMatrix, "nn"},
                                        {"result h", Of::kMatrix, "nn", 0},
                                        {"result taus", Of::kMatrix, "t"}};

ffi::Error to_hessenberg(ffi::AnyBuffer a, ffi::Result<ffi::AnyBuffer> h,
                         ffi::Result<ffi::AnyBuffer> taus, ffi::ScratchAllocator allocator,
                         ffi::ThreadPool pool) {
  const ffi::AnyBuffer buffers[] = {a, *h, *taus};
  const auto sizes = check_buffers(kHessenbergWanted, buffers);
  if (sizes.has_error()) return sizes.error();
  const int n = (*sizes)['n'], count = (*sizes)['t'];
  if (ffi::Error error = check_reflections(count, n); error.failure()) return error;
  return for_lapack_type(sizes->dtype, [&]<class T>() -> ffi::Error {
    T* matrices = h->reinterpret_data<T>();
    copy_unless_same(a.reinterpret_data<T>(), matrices, static_cast<int64_t>(a.element_count()));
    if (count == 0) return {};
    BatchLoop loop(pool, sizes->count, 2 * cost_of(n, n, n));
    Scratch scratch(allocator);
    const auto run = [&](int64_t i, const lapack::Work<T>& w) {
      return lapack::gehrd(n, matrices + i * n * n, n, taus->reinterpret_data<T>() + i * count, w);
    };
    const auto works = scratch.works<T>(loop.num_workers(), 0, 0,
                                        [&](const lapack::Work<T>& w) { return run(0, w); });
    if (scratch.error().failure()) return scratch.error();
    return loop.run([&](int64_t i, size_t worker) { run(i, works[worker]); });
  });
}

constexpr Wanted kTridiagonalWanted[] = {{"operand a", Of::kMatrix, "nn"},
                                         {"result t", Of::kMatrix, "nn", 0},
                                         {"result d", Of::kReal, "n"},
                                         {"result e", Of::kReal, "t"},
                                         {"result taus", Of::kMatrix, "t"}};

ffi::Error to_tridiagonal(ffi::AnyBuffer a, ffi::Result<ffi::AnyBuffer> t,
                          ffi::Result<ffi::AnyBuffer> d, ffi::Result<ffi::AnyBuffer> e,
                          ffi::Result<ffi::AnyBuffer> taus, ffi::ScratchAllocator allocator,
                          ffi::ThreadPool pool, bool lower) {
  const ffi::AnyBuffer buffers[] = {a, *t, *d, *e, *taus};
  const auto sizes = check_buffers(kTridiagonalWanted, buffers);
  if (sizes.has_error()) return sizes.error();
  const int n = (*sizes)['n'], count = (*sizes)['t'];
  if (ffi::Error error = check_reflections(count, n); error.failure()) return error;
  return for_lapack_type(sizes->dtype, [&]<class T>() -> ffi::Error {
    using R = lapack::Real<T>;
    T* matrices = t->reinterpret_data<T>();
    copy_unless_same(a.reinterpret_data<T>(), matrices, static_cast<int64_t>(a.element_count()));
    if (n == 0) return {};
    BatchLoop loop(pool, sizes->count, cost_of(n, n, n));
    Scratch scratch(allocator);
    const auto run = [&](int64_t i, const lapack::Work<T>& w) {
      return lapack::sytrd(lower ? 'L' : 'U', n, matrices + i * n * n, n,
                           d->reinterpret_data<R>() + i * n, e->reinterpret_data<R>() + i * count,
                           taus->reinterpret_data<T>() + i * count, w);
    };
    const auto works = scratch.works<T>(loop.num_workers(), 0, 0,
                                        [&](const lapack::Work<T>& w) { return run(0, w); });
    if (scratch.error().failure()) return scratch.error();
    return loop.run([&](int64_t i, size_t worker) { run(i, works[worker]); });
  });
}

}  // namespace
}  // namespace farcall::linalg

FARCALL_DEFINE_HANDLER(farcall_gehrd, farcall::linalg::to_hessenberg);
FARCALL_DEFINE_HANDLER(farcall_sytrd, farcall::linalg::to_tridiagonal, "lower");

namespace farcall::linalg {
namespace {

ShapeDtype vector_of(const ShapeDtype& matrices, DType dtype, int64_t missing) {
  const int64_t n = matrices.shape().back();
  return {dtype, with_last(matrices, 2, {std::max<int64_t>(0, n - missing)})};
}

std::vector<ShapeDtype> hessenberg_shape(std::span<const ShapeDtype> operands, const Attributes&) {
  return {operands[0], vector_of(operands[0], operands[0].dtype(), 1)};
}

std::vector<ShapeDtype> tridiagonal_shape(std::span<const ShapeDtype> operands, const Attributes&) {
  const ShapeDtype& a = operands[0];
  const DType real = real_dtype(a.dtype());
  return {a, vector_of(a, real, 0), vector_of(a, real, 1), vector_of(a, a.dtype(), 1)};
}

const RegisterTarget kHessenberg("farcall_gehrd", farcall_gehrd, 1,
                                 {.shape = hessenberg_shape, .vmap_method = "broadcast_all"});
const RegisterTarget kTridiagonal("farcall_sytrd", farcall_sytrd, 1,
                                  {.shape = tridiagonal_shape, .vmap_method = "broadcast_all"});

// The first result is a matrix like the operand, in the same memory.
FfiCallOptions in_place(const Array& x, size_t results) {
  std::vector<MajorToMinor> outputs(results, std::nullopt);
  outputs[0] = column_major(x.rank());
  return {.input_layouts = {{column_major(x.rank())}},
          .output_layouts = std::move(outputs),
          .input_output_aliases = {{0, 0}}};
}

}  // namespace

Hessenberg hessenberg(const Array& x) {
  check_square("hessenberg", x);
  const auto found = call_target("farcall_gehrd", hessenberg_shape, {x}, {}, in_place(x, 2));
  return {found[0], found[1]};
}

Tridiagonal tridiagonal(const Array& x, bool lower) {
  check_square("tridiagonal", x);
  const auto found =
      call_target("farcall_sytrd", tridiagonal_shape, {x}, {{"lower", lower}}, in_place(x, 4));
  return {found[0], found[1], found[2], found[3]};
}

}  // namespace farcall::linalg
