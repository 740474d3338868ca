// tridiagonal_solve: systems with a tridiagonal matrix, by elimination with row exchanges.
#include <farcall/ffi.h>

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/linalg/linalg.h>
#include <farcall/ops/indexing.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/differentiate.h>

#include "linalg/batch_loop.h"
#include "linalg/internal/arrays.h"
#include "linalg/stack.h"
#include "linalg/target.h"

namespace farcall::linalg {
namespace {

// The rows of the eliminated matrix: row i is (pivot, next, after) in columns i, i + 1 and i + 2.
template <class T>
struct Rows {
  T *pivot, *next, *after;
};

// Eliminates the lower diagonal, which starts in `below`, and applies the steps to the n rows of x.
template <class T>
void eliminate(const Rows<T>& rows, const T* below, int n, T* x, int64_t columns) {
  for (int i = 0; i + 1 < n; ++i) {
    T* row = x + i * columns;
    T lower = below[i + 1];
    rows.after[i] = 0;
    if (size_of(lower) > size_of(rows.pivot[i])) {
      std::swap(rows.pivot[i], lower);
      std::swap(rows.next[i], rows.pivot[i + 1]);
      if (i + 2 < n) std::swap(rows.after[i], rows.next[i + 1]);
      std::swap_ranges(row, row + columns, row + columns);
    }
    if (lower == T(0)) continue;
    const T factor = lower / rows.pivot[i];
    rows.pivot[i + 1] -= factor * rows.next[i];
    if (i + 2 < n) rows.next[i + 1] -= factor * rows.after[i];
    for (int64_t k = 0; k < columns; ++k) row[columns + k] -= factor * row[k];
  }
}

// Replaces pivots that are tiny beside the largest element.
template <class T>
void enlarge_pivots(const Rows<T>& rows, int n) {
  using R = lapack::Real<T>;
  R largest = 0;
  for (int i = 0; i < n; ++i) {
    largest = std::max(largest, size_of(rows.pivot[i]));
    if (i + 1 < n) largest = std::max({largest, size_of(rows.next[i]), size_of(rows.after[i])});
  }
  const R least =
      std::max(largest * std::numeric_limits<R>::epsilon(), std::numeric_limits<R>::min());
  for (int i = 0; i < n; ++i) {
    if (size_of(rows.pivot[i]) < least) {
      rows.pivot[i] = std::real(rows.pivot[i]) < 0 ? -least : least;
    }
  }
}

template <class T>
void substitute(const Rows<T>& rows, int n, T* x, int64_t columns) {
  for (int i = n - 1; i >= 0; --i) {
    T* row = x + i * columns;
    for (int64_t k = 0; k < columns; ++k) {
      T value = row[k];
      if (i + 1 < n) value -= rows.next[i] * row[columns + k];
      if (i + 2 < n) value -= rows.after[i] * row[2 * columns + k];
      row[k] = value / rows.pivot[i];
    }
  }
}

constexpr Wanted kWanted[] = {{"operand dl", Of::kMatrix, "n"},
                              {"operand d", Of::kMatrix, "n"},
                              {"operand du", Of::kMatrix, "n"},
                              {"operand b", Of::kMatrix, "nk"},
                              {"result x", Of::kMatrix, "nk", 3}};

ffi::Error solve_tridiagonal(ffi::AnyBuffer dl, ffi::AnyBuffer d, ffi::AnyBuffer du,
                             ffi::AnyBuffer b, ffi::Result<ffi::AnyBuffer> x,
                             ffi::ScratchAllocator allocator, ffi::ThreadPool pool,
                             bool perturb_singular) {
  const ffi::AnyBuffer buffers[] = {dl, d, du, b, *x};
  const auto sizes = check_buffers(kWanted, buffers);
  if (sizes.has_error()) return sizes.error();
  const int n = (*sizes)['n'];
  const int64_t columns = (*sizes)['k'];
  return for_lapack_type(sizes->dtype, [&]<class T>() -> ffi::Error {
    T* out = x->reinterpret_data<T>();
    copy_unless_same(b.reinterpret_data<T>(), out, static_cast<int64_t>(b.element_count()));
    BatchLoop loop(pool, sizes->count, 4 * cost_of(n, columns + 4));
    Scratch scratch(allocator);
    std::vector<Rows<T>> rows_of_workers(static_cast<size_t>(loop.num_workers()));
    for (Rows<T>& rows : rows_of_workers) {
      rows = {scratch.take<T>(n), scratch.take<T>(n), scratch.take<T>(n)};
    }
    if (scratch.error().failure()) return scratch.error();
    return loop.run([&](int64_t i, size_t worker) {
      const Rows<T>& rows = rows_of_workers[worker];
      const int64_t first = i * n;
      std::copy_n(d.reinterpret_data<T>() + first, n, rows.pivot);
      std::copy_n(du.reinterpret_data<T>() + first, n, rows.next);
      T* solution = out + first * columns;
      eliminate(rows, dl.reinterpret_data<T>() + first, n, solution, columns);
      if (perturb_singular) enlarge_pivots(rows, n);
      substitute(rows, n, solution, columns);
    });
  });
}

}  // namespace
}  // namespace farcall::linalg

FARCALL_DEFINE_HANDLER(farcall_gtsv, farcall::linalg::solve_tridiagonal, "perturb_singular");

namespace farcall::linalg {
namespace {

std::vector<ShapeDtype> shape(std::span<const ShapeDtype> operands, const Attributes&) {
  return {operands[3]};
}

Array call(std::span<const Array> diagonals, const Array& b, const Attributes& attributes) {
  return call_target("farcall_gtsv", shape, {diagonals[0], diagonals[1], diagonals[2], b},
                     attributes, {.input_output_aliases = {{3, 0}}})[0];
}

// x[i - steps] along `axis`, zero outside.
Array shifted(const Array& x, int64_t steps, size_t axis) {
  std::vector<PaddingDimension> edges(x.rank());
  edges[axis] = {steps, -steps, 0};
  return lax::pad(x, number(0, x.dtype()), edges);
}

// The product with x of the matrix that has these diagonals, null ones being zero.
Array product(std::span<const Array> diagonals, const Array& x) {
  Array sum;
  for (int64_t i = 0; i < 3; ++i) {
    if (diagonals[i].is_null()) continue;
    sum = add_tangents(sum, as_column(diagonals[i]) * shifted(x, 1 - i, x.rank() - 2));
  }
  return sum;
}

JvpResults jvp(const TargetCall& target, std::span<const Array> primals,
               std::span<const Array> tangents) {
  const Array x = call(primals, primals[3], target.attributes());
  const Array moved = product(tangents.first(3), x);
  const Array side = moved.is_null() ? tangents[3] : add_tangents(tangents[3], lax::neg(moved));
  return {{x}, {call(primals, side, target.attributes())}};
}

std::vector<Array> transpose(const TargetCall& target, std::span<const Array> operands,
                             std::span<const Array> cotangents) {
  const size_t axis = operands[0].rank() - 1;
  const Array diagonals[] = {shifted(operands[2], 1, axis), operands[1],
                             shifted(operands[0], -1, axis)};
  return {Array(), Array(), Array(), call(diagonals, cotangents[0], target.attributes())};
}

const RegisterTarget kRegister("farcall_gtsv", farcall_gtsv, 4,
                               {.shape = shape,
                                .jvp = jvp,
                                .linear_in = {{3}},
                                .transpose = transpose,
                                .vmap_method = "broadcast_all"},
                               /*element_rank=*/1);

}  // namespace

Array tridiagonal_solve(const Array& dl, const Array& d, const Array& du, const Array& b,
                        bool perturb_singular) {
  check_matrices("tridiagonal_solve", b);
  for (const Array* diagonal : {&dl, &d, &du}) {
    const bool fits = diagonal->dtype() == b.dtype() &&
                      std::ranges::equal(diagonal->shape(), b.shape().first(b.rank() - 1));
    if (!fits) {
      invalid_argument(fmt::format(
          "tridiagonal_solve: dl, d and du must be [..., n] for b [..., n, k], all of one dtype; "
          "got {}, {}, {} and {}",
          dl.type().to_string(), d.type().to_string(), du.type().to_string(),
          b.type().to_string()));
    }
  }
  const Array diagonals[] = {dl, d, du};
  return call(diagonals, b, {{"perturb_singular", perturb_singular}});
}

}  // namespace farcall::linalg
