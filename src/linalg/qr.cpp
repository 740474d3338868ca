// qr, geqrf and householder_product.
#include <farcall/ffi.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/linalg/linalg.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/custom.h>

#include "linalg/batch_loop.h"
#include "linalg/internal/arrays.h"
#include "linalg/stack.h"
#include "linalg/target.h"

namespace farcall::linalg {
namespace {

constexpr Wanted kFactorWanted[] = {{"operand a", Of::kMatrix, "mn"},
                                    {"result qr", Of::kMatrix, "mn", 0},
                                    {"result taus", Of::kMatrix, "p"}};

// Computes the LQ factors of the transpose, which are the QR factors of the matrix; the reflectors'
// factors are conjugated.
ffi::Error factor(ffi::AnyBuffer a, ffi::Result<ffi::AnyBuffer> qr,
                  ffi::Result<ffi::AnyBuffer> taus, ffi::ScratchAllocator allocator,
                  ffi::ThreadPool pool) {
  const ffi::AnyBuffer buffers[] = {a, *qr, *taus};
  const auto sizes = check_buffers(kFactorWanted, buffers);
  if (sizes.has_error()) return sizes.error();
  const int m = (*sizes)['m'], n = (*sizes)['n'], k = (*sizes)['p'];
  return for_lapack_type(sizes->dtype, [&]<class T>() -> ffi::Error {
    T* matrices = qr->reinterpret_data<T>();
    copy_unless_same(a.reinterpret_data<T>(), matrices, static_cast<int64_t>(a.element_count()));
    if (k == 0) return {};
    BatchLoop loop(pool, sizes->count, cost_of(m, n, k + 70));
    Scratch scratch(allocator);
    const auto run = [&](int64_t i, const lapack::Work<T>& w) {
      return lapack::gelqf(n, m, matrices + i * m * n, n, taus->reinterpret_data<T>() + i * k, w);
    };
    const auto works = scratch.works<T>(loop.num_workers(), 0, 0,
                                        [&](const lapack::Work<T>& w) { return run(0, w); });
    if (scratch.error().failure()) return scratch.error();
    return loop.run([&](int64_t i, size_t worker) {
      run(i, works[worker]);
      T* tau = taus->reinterpret_data<T>() + i * k;
      std::transform(tau, tau + k, tau, conj<T>);
    });
  });
}

constexpr Wanted kProductWanted[] = {{"operand a", Of::kMatrix, "mn"},
                                     {"operand taus", Of::kMatrix, "k"},
                                     {"result q", Of::kMatrix, "mn", 0}};

ffi::Error product(ffi::AnyBuffer a, ffi::AnyBuffer taus, ffi::Result<ffi::AnyBuffer> q,
                   ffi::ScratchAllocator allocator, ffi::ThreadPool pool) {
  const ffi::AnyBuffer buffers[] = {a, taus, *q};
  const auto sizes = check_buffers(kProductWanted, buffers);
  if (sizes.has_error()) return sizes.error();
  const int m = (*sizes)['m'], n = (*sizes)['n'], k = (*sizes)['k'];
  if (n > m || k > n) {
    return ffi::Error::InvalidArgument(
        fmt::format("there can be no more reflections than columns, and no more columns than rows; "
                    "got {} reflections for {} rows and {} columns",
                    k, m, n));
  }
  return for_lapack_type(sizes->dtype, [&]<class T>() -> ffi::Error {
    T* matrices = q->reinterpret_data<T>();
    copy_unless_same(a.reinterpret_data<T>(), matrices, static_cast<int64_t>(a.element_count()));
    if (n == 0) return {};
    BatchLoop loop(pool, sizes->count, cost_of(m, n, k + 70));
    Scratch scratch(allocator);
    T* conjugated = scratch.take<T>(loop.num_workers() * k);
    const auto run = [&](T* matrix, const T* tau, const lapack::Work<T>& w) {
      return lapack::orglq(n, m, k, matrix, n, tau, w);
    };
    const auto works = scratch.works<T>(loop.num_workers(), 0, 0, [&](const lapack::Work<T>& w) {
      return run(matrices, conjugated, w);
    });
    if (scratch.error().failure()) return scratch.error();
    return loop.run([&](int64_t i, size_t worker) {
      const T* given = taus.reinterpret_data<T>() + i * k;
      T* tau = conjugated + static_cast<int64_t>(worker) * k;
      std::transform(given, given + k, tau, conj<T>);
      run(matrices + i * m * n, tau, works[worker]);
    });
  });
}

}  // namespace
}  // namespace farcall::linalg

FARCALL_DEFINE_HANDLER(farcall_geqrf, farcall::linalg::factor);
FARCALL_DEFINE_HANDLER(farcall_orgqr, farcall::linalg::product);

namespace farcall::linalg {
namespace {

std::vector<ShapeDtype> factor_shape(std::span<const ShapeDtype> operands, const Attributes&) {
  const auto dims = operands[0].shape();
  const int64_t k = std::min(dims[dims.size() - 1], dims[dims.size() - 2]);
  return {operands[0], {operands[0].dtype(), with_last(operands[0], 2, {k})}};
}

std::vector<ShapeDtype> product_shape(std::span<const ShapeDtype> operands, const Attributes&) {
  return {operands[0]};
}

const RegisterTarget kFactor("farcall_geqrf", farcall_geqrf, 1,
                             {.shape = factor_shape, .vmap_method = "broadcast_all"});
const RegisterTarget kProduct("farcall_orgqr", farcall_orgqr, 2,
                              {.shape = product_shape, .vmap_method = "broadcast_all"});

Qr factors_of(const Array& x, bool full_matrices) {
  const int64_t m = rows(x), n = columns(x), k = std::min(m, n);
  const auto [a, taus] = geqrf(x);
  const int64_t size = full_matrices ? m : k;
  Array reflections = column_block(a, 0, k);
  if (size > k) {
    const Array parts[] = {reflections,
                           numpy::zeros(with_last(x.type(), 2, {m, size - k}), x.dtype())};
    reflections = numpy::concatenate(parts, -1);
  }
  return {householder_product(reflections, taus), numpy::triu(row_block(a, 0, size))};
}

// With C = Q^H dA R^-1 (for wide matrices, of the first columns): Q^H dQ is skew-Hermitian and has
// C's elements below the diagonal; the part of dA R^-1 outside the range of Q is added to dQ. R's
// diagonal stays real. (M. Seeger et al., Auto-differentiating linear algebra, 2017, section 2.)
JvpResults jvp(std::span<const Array> primals, std::span<const Array> tangents,
               bool full_matrices) {
  const Array &x = primals[0], &dx = tangents[0];
  const int64_t m = rows(x), n = columns(x);
  if (full_matrices && m > n) {
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("qr: the square Q of {} is not determined by its matrix, so it has no "
                            "derivative; use full_matrices=False",
                            x.type().to_string()));
  }
  const auto [q, r] = qr(x, /*full_matrices=*/false);
  const int64_t k = std::min(m, n);
  const Array outer = triangular_solve(column_block(r, 0, k), column_block(dx, 0, k), {});
  const Array c = matmul(adjoint(q), outer);
  const Array below = numpy::tril(c, -1);
  Array skew = lax::sub(below, adjoint(below));
  if (is_complex(x.dtype())) {
    const Array on_diagonal = lax::sub(numpy::tril(c), below);
    const Array phases = lax::mul(lax::sub(on_diagonal, conj(on_diagonal)), number(0.5, c.dtype()));
    skew = lax::add(skew, numpy::triu(phases));
  }
  const Array dq = lax::add(matmul(q, lax::sub(skew, c)), outer);
  const Array dr = matmul(adjoint(q), lax::sub(dx, matmul(dq, r)));
  return {{q, r}, {dq, numpy::triu(dr)}};
}

}  // namespace

Geqrf geqrf(const Array& x) {
  check_matrices("geqrf", x);
  const auto results =
      call_target("farcall_geqrf", factor_shape, {x}, {}, {.input_output_aliases = {{0, 0}}});
  return {results[0], results[1]};
}

Array householder_product(const Array& a, const Array& taus) {
  check_matrices("householder_product", a);
  return call_target("farcall_orgqr", product_shape, {a, taus}, {},
                     {.input_output_aliases = {{0, 0}}})[0];
}

Qr qr(const Array& x, bool full_matrices) {
  check_matrices("qr", x);
  auto call = std::make_shared<CustomCall>();
  call->name = "qr";
  call->function = [full_matrices](std::span<const Array> inputs) {
    const auto [q, r] = factors_of(inputs[0], full_matrices);
    return std::vector<Array>{q, r};
  };
  call->jvp = [full_matrices](std::span<const Array> primals, std::span<const Array> tangents) {
    return jvp(primals, tangents, full_matrices);
  };
  const auto results = call_custom(call, std::span(&x, 1));
  return {results[0], results[1]};
}

}  // namespace farcall::linalg
