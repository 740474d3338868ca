// svd: x = u * diag(s) * vt for each matrix of x[..., m, n], by LAPACK's gesdd, with u[..., m, k],
// s[..., k] and vt[..., k, n], k = min(m, n).
//
// LAPACK wants matrices by columns, and arrays come by rows. Nothing is transposed for it: read by
// columns, the memory of x is its transpose, whose decomposition has the roles of u and vt
// exchanged, and they too are written by columns, that is, transposed back.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>

#include <lapacke.h>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

// One name for both precisions; returns LAPACK's info.
#define GESDD(T, function)                                                                       \
  static lapack_int gesdd(lapack_int rows, lapack_int columns, T* a, T* s, T* u, T* vt, T* work, \
                          lapack_int work_size, lapack_int* integer_work) {                      \
    const lapack_int k = std::min(rows, columns);                                                \
    return function(LAPACK_COL_MAJOR, 'S', rows, columns, a, rows, s, u, rows, vt, k, work,      \
                    work_size, integer_work);                                                    \
  }
GESDD(float, LAPACKE_sgesdd_work)
GESDD(double, LAPACKE_dgesdd_work)

static ffi::Error failure(int64_t matrix, lapack_int info) {
  char text[128];
  const char* what = info > 0 ? "the iteration did not converge" : "the matrix holds a nan";
  std::snprintf(text, sizeof text, "svd: matrix %lld: %s (gesdd: info = %d)",
                static_cast<long long>(matrix), what, static_cast<int>(info));
  return info > 0 ? ffi::Error::Internal(text) : ffi::Error::InvalidArgument(text);
}

// gesdd overwrites its input, so it works on a copy. All memory is the call's scratch, which the
// allocator frees when the call ends. (XLA has none on CPUs: a handler for JAX there allocates its
// own.)
template <typename T>
static ffi::Error decompose(const T* x, T* u, T* s, T* vt, int64_t batch, lapack_int m,
                            lapack_int n, ffi::ScratchAllocator& scratch) {
  const lapack_int k = std::min(m, n);
  T best_size = 0;  // gesdd answers with the size of workspace that it likes best
  lapack_int info = gesdd(n, m, nullptr, nullptr, nullptr, nullptr, &best_size, -1, nullptr);
  if (info != 0) return failure(0, info);
  const auto work_size = static_cast<lapack_int>(best_size);

  const size_t size = size_t(m) * size_t(n);
  auto copy = scratch.try_allocate(size * sizeof(T), alignof(T));
  auto work = scratch.try_allocate(size_t(work_size) * sizeof(T), alignof(T));
  auto integers = scratch.try_allocate(8 * size_t(k) * sizeof(lapack_int), alignof(lapack_int));
  for (auto* block : {&copy, &work, &integers}) {
    if (block->has_error()) return block->error();
  }
  T* const a = static_cast<T*>(*copy);
  for (int64_t matrix = 0; matrix < batch; ++matrix) {
    std::copy_n(x, size, a);
    info = gesdd(n, m, a, s, vt, u, static_cast<T*>(*work), work_size,
                 static_cast<lapack_int*>(*integers));
    if (info != 0) return failure(matrix, info);
    x += size, u += size_t(m) * k, s += k, vt += size_t(k) * n;
  }
  return ffi::Error::Success();
}

static ffi::Error svd_of(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> u,
                         ffi::Result<ffi::AnyBuffer> s, ffi::Result<ffi::AnyBuffer> vt,
                         ffi::ScratchAllocator scratch) {
  const auto shape = x.dimensions();
  if (shape.size() < 2) return ffi::Error::InvalidArgument("svd: x must have 2 dimensions or more");
  int64_t batch = 1;
  for (const int64_t size : shape.first(shape.size() - 2)) batch *= size;
  const int64_t m = shape[shape.size() - 2], n = shape.back(), k = std::min(m, n);
  if (std::max(m, n) > std::numeric_limits<lapack_int>::max()) {
    return ffi::Error::InvalidArgument("svd: a dimension of x is too large for LAPACK");
  }
  const auto fits = [&](const ffi::AnyBuffer& result, int64_t size) {
    return result.element_type() == x.element_type() &&
           result.element_count() == static_cast<size_t>(size);
  };
  if (!fits(*u, batch * m * k) || !fits(*s, batch * k) || !fits(*vt, batch * k * n)) {
    return ffi::Error::InvalidArgument(
        "svd: for x[..., m, n] the results must be u[..., m, k], s[..., k], vt[..., k, n] of the "
        "dtype of x, with k = min(m, n)");
  }
  if (batch * k == 0) return ffi::Error::Success();
  return ffi::dispatch<ffi::F32, ffi::F64>(x.element_type(), [&](auto dtype) {
    using T = typename decltype(dtype)::type;
    return decompose(x.typed_data<T>(), u->typed_data<T>(), s->typed_data<T>(), vt->typed_data<T>(),
                     batch, static_cast<lapack_int>(m), static_cast<lapack_int>(n), scratch);
  });
}
FARCALL_DEFINE_HANDLER(svd, svd_of);
