// svd: singular values and vectors.
#include <farcall/ffi.h>

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/linalg/linalg.h>
#include <farcall/ops/lax.h>

#include "linalg/batch_loop.h"
#include "linalg/internal/arrays.h"
#include "linalg/stack.h"
#include "linalg/target.h"

namespace farcall::linalg {
namespace {

template <class T>
void fill_identity(T* matrix, int64_t size) {
  std::fill_n(matrix, size * size, T(0));
  for (int64_t i = 0; i < size; ++i) matrix[i * size + i] = T(1);
}

constexpr Wanted kWantedFull[] = {{"operand a", Of::kMatrix, "mn"},
                                  {"result s", Of::kReal, "p"},
                                  {"result u", Of::kMatrix, "mm"},
                                  {"result vh", Of::kMatrix, "nn"}};
constexpr Wanted kWantedThin[] = {{"operand a", Of::kMatrix, "mn"},
                                  {"result s", Of::kReal, "p"},
                                  {"result u", Of::kMatrix, "mp"},
                                  {"result vh", Of::kMatrix, "pn"}};

// Decomposes the transpose: this exchanges U and V, and both come out row-major.
ffi::Error decompose(ffi::AnyBuffer a, ffi::Result<ffi::AnyBuffer> s,
                     std::optional<ffi::Result<ffi::AnyBuffer>> u,
                     std::optional<ffi::Result<ffi::AnyBuffer>> vh, ffi::ScratchAllocator allocator,
                     ffi::ThreadPool pool, bool full_matrices, bool compute_uv) {
  if (compute_uv != u.has_value() || compute_uv != vh.has_value()) {
    return ffi::Error::InvalidArgument(
        "expected the result s, or with compute_uv the results s, u and vh");
  }
  std::vector<ffi::AnyBuffer> buffers = {a, *s};
  if (compute_uv) buffers.insert(buffers.end(), {**u, **vh});
  const auto sizes = check_buffers(full_matrices ? kWantedFull : kWantedThin, buffers);
  if (sizes.has_error()) return sizes.error();
  const int m = (*sizes)['m'], n = (*sizes)['n'], k = (*sizes)['p'];
  const int left = full_matrices ? m : k, right = full_matrices ? n : k;
  const int64_t size = int64_t{m} * n;
  return for_lapack_type(sizes->dtype, [&]<class T>() -> ffi::Error {
    using R = lapack::Real<T>;
    auto* all_values = s->reinterpret_data<R>();
    T* all_u = compute_uv ? (*u)->reinterpret_data<T>() : nullptr;
    T* all_vh = compute_uv ? (*vh)->reinterpret_data<T>() : nullptr;
    if (k == 0) {
      if (!compute_uv || !full_matrices) return {};
      BatchLoop loop(pool, sizes->count, cost_of(m, m) + cost_of(n, n));
      return loop.run([&](int64_t i, size_t) {
        fill_identity(all_u + i * m * m, m);
        fill_identity(all_vh + i * n * n, n);
      });
    }
    BatchLoop loop(pool, sizes->count, 4 * cost_of(m, n, k));
    Scratch scratch(allocator);
    T* matrices = scratch.take<T>(loop.num_workers() * size);
    const char job = !compute_uv ? 'N' : full_matrices ? 'A' : 'S';
    const auto run = [&](T* matrix, R* values, T* of_u, T* of_vh, const lapack::Work<T>& work) {
      return lapack::gesdd(job, n, m, matrix, n, values, of_vh, n, of_u, left, work);
    };
    const int64_t small = k, large = std::max(m, n);
    const auto works = scratch.works<T>(loop.num_workers(),
                                        small * std::max(5 * small + 7, 2 * large + 2 * small + 1),
                                        8 * small, [&](const lapack::Work<T>& work) {
                                          return run(matrices, all_values, all_u, all_vh, work);
                                        });
    if (scratch.error().failure()) return scratch.error();
    const int64_t size_u = int64_t{m} * left, size_vh = int64_t{right} * n;
    return loop.run([&](int64_t i, size_t worker) {
      T* matrix = matrices + static_cast<int64_t>(worker) * size;
      R* values = all_values + i * k;
      T* of_u = compute_uv ? all_u + i * size_u : nullptr;
      T* of_vh = compute_uv ? all_vh + i * size_vh : nullptr;
      std::copy_n(a.reinterpret_data<T>() + i * size, size, matrix);
      if (!all_finite(matrix, size) || run(matrix, values, of_u, of_vh, works[worker]) != 0) {
        fill_nan(values, k);
        if (compute_uv) fill_nan(of_u, size_u);
        if (compute_uv) fill_nan(of_vh, size_vh);
      }
    });
  });
}

}  // namespace
}  // namespace farcall::linalg

FARCALL_DEFINE_HANDLER(farcall_gesdd, farcall::linalg::decompose, "full_matrices", "compute_uv");

namespace farcall::linalg {
namespace {

std::vector<ShapeDtype> shape(std::span<const ShapeDtype> operands, const Attributes& attributes) {
  const ShapeDtype type = operands[0];
  const int64_t m = type.shape()[type.rank() - 2], n = type.shape()[type.rank() - 1];
  const int64_t k = std::min(m, n);
  const bool full = flag(attributes, "full_matrices");
  std::vector<ShapeDtype> results = {{real_dtype(type.dtype()), with_last(type, 2, {k})}};
  if (flag(attributes, "compute_uv")) {
    results.emplace_back(type.dtype(), with_last(type, 2, {m, full ? m : k}));
    results.emplace_back(type.dtype(), with_last(type, 2, {full ? n : k, n}));
  }
  return results;
}

std::vector<Array> call(const Array& x, bool full_matrices, bool compute_uv) {
  return call_target("farcall_gesdd", shape, {x},
                     {{"full_matrices", full_matrices}, {"compute_uv", compute_uv}});
}

// 1 / x, and 0 where x is 0.
Array inverse_or_zero(const Array& x) {
  const Array is_zero = lax::eq(x, number(0, x.dtype()));
  const Array one = number(1, x.dtype());
  return numpy::where(is_zero, number(0, x.dtype()),
                      numpy::divide(one, numpy::where(is_zero, one, x)));
}

// With C = U^H dA V and F_ij = 1 / (s_j^2 - s_i^2): dU = U (F o (C S + S C^H)) + (1 - U U^H) dA V /
// S, and dV likewise. The free phases are assigned to dU. (J. Townsend, Differentiating the
// singular value decomposition, 2016.)
JvpResults jvp(const TargetCall& target, std::span<const Array> primals,
               std::span<const Array> tangents) {
  const Array &x = primals[0], &dx = tangents[0];
  const int64_t m = rows(x), n = columns(x);
  const bool compute_uv = flag(target.attributes(), "compute_uv");
  if (compute_uv && flag(target.attributes(), "full_matrices") && m != n) {
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("svd: the square U and V of {} are not determined by their matrix, so "
                            "they have no derivative; use full_matrices=False",
                            x.type().to_string()));
  }
  const auto results = call(x, /*full_matrices=*/false, /*compute_uv=*/true);
  const Array &s = results[0], &u = results[1], &vh = results[2];
  const Array v = adjoint(vh);
  const Array c = matmul(adjoint(u), matmul(dx, v));
  const Array ds = numpy::real(diagonal(c));
  if (!compute_uv) return {{s}, {ds}};

  const DType dtype = x.dtype();
  const auto as_elements = [&](const Array& real) {
    return lax::convert_element_type(real, dtype);
  };
  const Array row = as_row(s), column = as_column(s);
  const Array f = as_elements(inverse_or_zero((row + column) * (row - column)));
  const Array cs = c * as_elements(row), sc = as_elements(column) * c;
  const Array one = eye(std::min(m, n), dtype);
  const Array phases =
      lax::sub(c, adjoint(c)) * as_elements(inverse_or_zero(row)) * one * number(0.5, dtype);
  Array du = matmul(u, lax::add(lax::mul(f, lax::add(cs, adjoint(cs))), phases));
  Array dv = matmul(v, lax::mul(f, lax::add(sc, adjoint(sc))));
  const Array over_s = as_elements(inverse_or_zero(row));
  if (m > n) {
    const Array dx_v = matmul(dx, v);
    du = lax::add(du, lax::sub(dx_v, matmul(u, matmul(adjoint(u), dx_v))) * over_s);
  }
  if (n > m) {
    const Array dxh_u = matmul(adjoint(dx), u);
    dv = lax::add(dv, lax::sub(dxh_u, matmul(v, matmul(vh, dxh_u))) * over_s);
  }
  return {{s, u, vh}, {ds, du, adjoint(dv)}};
}

const RegisterTarget kRegister("farcall_gesdd", farcall_gesdd, 1,
                               {.shape = shape, .jvp = jvp, .vmap_method = "broadcast_all"});

}  // namespace

Svd svd(const Array& x, bool full_matrices, const Subset& subset) {
  check_matrices("svd", x);
  if (subset && full_matrices) {
    invalid_argument("svd: subset_by_index needs full_matrices=False");
  }
  const auto results = call(x, full_matrices, /*compute_uv=*/true);
  const Array &s = results[0], &u = results[1], &vh = results[2];
  if (!subset) return {u, s, vh};
  const Array rows = last_part("svd", numpy::swapaxes(vh, -1, -2), subset);
  return {last_part("svd", u, subset), last_part("svd", s, subset), numpy::swapaxes(rows, -1, -2)};
}

Array singular_values(const Array& x, const Subset& subset) {
  check_matrices("svd", x);
  return last_part("svd", call(x, /*full_matrices=*/false, /*compute_uv=*/false)[0], subset);
}

}  // namespace farcall::linalg
