// eigh: eigenvalues and eigenvectors of Hermitian matrices.
#include <farcall/ffi.h>

#include <farcall/linalg/linalg.h>
#include <farcall/ops/lax.h>

#include "linalg/batch_loop.h"
#include "linalg/internal/arrays.h"
#include "linalg/stack.h"
#include "linalg/target.h"

namespace farcall::linalg {
namespace {

// Works in blocks that fit in the cache.
template <class T>
void adjoint_in_place(T* matrix, int64_t n) {
  constexpr int64_t kBlock = 32;
  for (int64_t top = 0; top < n; top += kBlock) {
    for (int64_t left = 0; left <= top; left += kBlock) {
      for (int64_t i = top; i < std::min(n, top + kBlock); ++i) {
        for (int64_t j = left; j <= std::min(i, left + kBlock - 1); ++j) {
          const T below = conj(matrix[i * n + j]);
          matrix[i * n + j] = conj(matrix[j * n + i]);
          matrix[j * n + i] = below;
        }
      }
    }
  }
}

constexpr Wanted kWanted[] = {{"operand a", Of::kMatrix, "nn"},
                              {"result v", Of::kMatrix, "nn", 0},
                              {"result w", Of::kReal, "n"}};

ffi::Error decompose(ffi::AnyBuffer a, ffi::Result<ffi::AnyBuffer> v, ffi::Result<ffi::AnyBuffer> w,
                     ffi::ScratchAllocator allocator, ffi::ThreadPool pool, bool lower) {
  const ffi::AnyBuffer buffers[] = {a, *v, *w};
  const auto sizes = check_buffers(kWanted, buffers);
  if (sizes.has_error()) return sizes.error();
  const int n = (*sizes)['n'];
  const int64_t elements = int64_t{n} * n;
  return for_lapack_type(sizes->dtype, [&]<class T>() -> ffi::Error {
    T* matrices = v->reinterpret_data<T>();
    auto* all_values = w->reinterpret_data<lapack::Real<T>>();
    copy_unless_same(a.reinterpret_data<T>(), matrices, static_cast<int64_t>(a.element_count()));
    BatchLoop loop(pool, sizes->count, 4 * cost_of(n, n, n + 75));
    Scratch scratch(allocator);
    // The lower triangle is the upper triangle of the transpose, whose eigenvectors are conjugated.
    const auto run = [&](T* matrix, lapack::Real<T>* values, const lapack::Work<T>& work) {
      return lapack::syevd('V', lower ? 'U' : 'L', n, matrix, std::max(1, n), values, work);
    };
    const int64_t size = n;
    const auto works = scratch.works<T>(
        loop.num_workers(), 1 + 5 * size + 2 * size * size, 3 + 5 * size,
        [&](const lapack::Work<T>& work) { return run(matrices, all_values, work); });
    if (scratch.error().failure()) return scratch.error();
    return loop.run([&](int64_t i, size_t worker) {
      T* matrix = matrices + i * elements;
      lapack::Real<T>* values = all_values + i * n;
      if (all_finite(matrix, elements) && run(matrix, values, works[worker]) == 0) {
        adjoint_in_place(matrix, n);
      } else {
        fill_nan(matrix, elements);
        fill_nan(values, n);
      }
    });
  });
}

}  // namespace
}  // namespace farcall::linalg

FARCALL_DEFINE_HANDLER(farcall_syevd, farcall::linalg::decompose, "lower");

namespace farcall::linalg {
namespace {

std::vector<ShapeDtype> shape(std::span<const ShapeDtype> operands, const Attributes&) {
  return {operands[0], {real_dtype(operands[0].dtype()), with_last(operands[0], 1, {})}};
}

Eigh call(const Array& x, bool lower) {
  const auto results = call_target("farcall_syevd", shape, {x}, {{"lower", lower}},
                                   {.input_output_aliases = {{0, 0}}});
  return {results[0], results[1]};
}

// dw = diag(V^H dA V), dV = V (F o V^H dA V) with F_ij = 1 / (w_j - w_i) off the diagonal (M.
// Giles, An extended collection of matrix derivative results, 2008, section 3.1).
JvpResults jvp(const TargetCall& target, std::span<const Array> primals,
               std::span<const Array> tangents) {
  const auto [v, w] = call(primals[0], flag(target.attributes(), "lower"));
  const Array c = matmul(adjoint(v), matmul(tangents[0], v));
  const Array one = eye(columns(v), w.dtype());
  const Array f = numpy::divide(number(1, w.dtype()), as_row(w) - as_column(w) + one) - one;
  const Array dv = matmul(v, lax::mul(lax::convert_element_type(f, v.dtype()), c));
  const Array dw = numpy::real(diagonal(c));
  return {{v, w}, {dv, dw}};
}

const RegisterTarget kRegister("farcall_syevd", farcall_syevd, 1,
                               {.shape = shape, .jvp = jvp, .vmap_method = "broadcast_all"});

}  // namespace

Eigh eigh(const Array& x, bool lower, bool symmetrize_input, const Subset& subset) {
  check_square("eigh", x);
  const auto [v, w] = call(symmetrize_input ? symmetrized(x) : x, lower);
  return {last_part("eigh", v, subset), last_part("eigh", w, subset)};
}

}  // namespace farcall::linalg
