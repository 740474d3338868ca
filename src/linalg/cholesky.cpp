// cholesky: the factor of a Hermitian positive definite matrix.
#include <algorithm>

#include <farcall/ffi.h>

#include <farcall/linalg/linalg.h>
#include <farcall/ops/lax.h>

#include "linalg/batch_loop.h"
#include "linalg/internal/arrays.h"
#include "linalg/small.h"
#include "linalg/stack.h"
#include "linalg/target.h"

namespace farcall::linalg {
namespace {

constexpr Wanted kWanted[] = {{"operand a", Of::kMatrix, "nn"}, {"result l", Of::kMatrix, "nn", 0}};

ffi::Error factor(ffi::AnyBuffer a, ffi::Result<ffi::AnyBuffer> l, ffi::ThreadPool pool) {
  const ffi::AnyBuffer buffers[] = {a, *l};
  const auto sizes = check_buffers(kWanted, buffers);
  if (sizes.has_error()) return sizes.error();
  const int n = (*sizes)['n'];
  return for_lapack_type(sizes->dtype, [&]<class T>() -> ffi::Error {
    copy_unless_same(a.reinterpret_data<T>(), l->reinterpret_data<T>(), a.element_count());
    const bool is_small = small::fits(n, n);
    BatchLoop loop(pool, sizes->count, cost_of(n, n, n) / 6, !is_small);
    return loop.run([&](int64_t i, size_t) {
      T* matrix = l->reinterpret_data<T>() + i * n * n;
      // The upper factor of the transpose is the lower factor of the matrix.
      const bool is_definite = is_small ? small::factor_cholesky(n, matrix)
                                        : lapack::potrf('U', n, matrix, std::max(1, n)) == 0;
      for (int row = 0; row < n; ++row) {
        T* begin = matrix + static_cast<int64_t>(row) * n;
        if (!is_definite) fill_nan(begin, row + 1);
        std::fill(begin + row + 1, begin + n, T(0));
      }
    });
  });
}

}  // namespace
}  // namespace farcall::linalg

FARCALL_DEFINE_HANDLER(farcall_cholesky, farcall::linalg::factor);

namespace farcall::linalg {
namespace {

std::vector<ShapeDtype> shape(std::span<const ShapeDtype> operands, const Attributes&) {
  return {operands[0]};
}

Array call(const Array& x) {
  return call_target("farcall_cholesky", shape, {x}, {}, {.input_output_aliases = {{0, 0}}})[0];
}

// dL = L phi(L^-1 dA L^-H), where phi halves the diagonal and drops the upper triangle (I. Murray,
// Differentiation of the Cholesky decomposition, 2016, section 3.1).
JvpResults jvp(const TargetCall&, std::span<const Array> primals, std::span<const Array> tangents) {
  const Array l = call(primals[0]);
  const Array right =
      triangular_solve(l, tangents[0], {.lower = true, .transpose_a = true, .conjugate_a = true});
  const Array both = triangular_solve(l, right, {.left_side = true, .lower = true});
  const Array phi =
      lax::mul(lax::add(numpy::tril(both), numpy::tril(both, -1)), number(0.5, both.dtype()));
  return {{l}, {matmul(l, phi)}};
}

const RegisterTarget kRegister("farcall_cholesky", farcall_cholesky, 1,
                               {.shape = shape, .jvp = jvp, .vmap_method = "broadcast_all"});

}  // namespace

Array cholesky(const Array& x, bool symmetrize_input) {
  check_square("cholesky", x);
  return call(symmetrize_input ? symmetrized(x) : x);
}

}  // namespace farcall::linalg
