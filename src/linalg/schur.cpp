// schur: the triangular form of square matrices in a unitary basis.
#include <farcall/ffi.h>

#include <optional>
#include <vector>

#include <farcall/linalg/linalg.h>

#include "linalg/batch_loop.h"
#include "linalg/internal/arrays.h"
#include "linalg/stack.h"
#include "linalg/target.h"

namespace farcall::linalg {
namespace {

constexpr Wanted kWanted[] = {{"operand a", Of::kMatrix, "nn"},
                              {"result t", Of::kMatrix, "nn", 0},
                              {"result q", Of::kMatrix, "nn"}};

// Matrices are column-major here.
ffi::Error decompose(ffi::AnyBuffer a, ffi::Result<ffi::AnyBuffer> t,
                     std::optional<ffi::Result<ffi::AnyBuffer>> q, ffi::ScratchAllocator allocator,
                     ffi::ThreadPool pool) {
  std::vector<ffi::AnyBuffer> buffers = {a, *t};
  if (q) buffers.push_back(**q);
  const auto sizes = check_buffers(kWanted, buffers);
  if (sizes.has_error()) return sizes.error();
  const int n = (*sizes)['n'];
  const int64_t size = int64_t{n} * n;
  return for_lapack_type(sizes->dtype, [&]<class T>() -> ffi::Error {
    T* matrices = t->reinterpret_data<T>();
    T* all_vectors = q ? (*q)->reinterpret_data<T>() : nullptr;
    copy_unless_same(a.reinterpret_data<T>(), matrices, static_cast<int64_t>(a.element_count()));
    BatchLoop loop(pool, sizes->count, 10 * cost_of(n, n, n));
    Scratch scratch(allocator);
    const int64_t parts = 2 * int64_t{n};
    T* all_values = scratch.take<T>(loop.num_workers() * parts);
    const auto run = [&](T* matrix, T* values, T* vectors, const lapack::Work<T>& work) {
      return lapack::gees(q ? 'V' : 'N', n, matrix, std::max(1, n), values, vectors, std::max(1, n),
                          work);
    };
    const auto works = scratch.works<T>(loop.num_workers(), n, 0, [&](const lapack::Work<T>& work) {
      return run(matrices, all_values, all_vectors, work);
    });
    if (scratch.error().failure()) return scratch.error();
    return loop.run([&](int64_t i, size_t worker) {
      T* matrix = matrices + i * size;
      T* vectors = q ? all_vectors + i * size : nullptr;
      T* values = all_values + static_cast<int64_t>(worker) * parts;
      if (!all_finite(matrix, size) || run(matrix, values, vectors, works[worker]) != 0) {
        fill_nan(matrix, size);
        if (q) fill_nan(vectors, size);
      }
    });
  });
}

}  // namespace
}  // namespace farcall::linalg

FARCALL_DEFINE_HANDLER(farcall_gees, farcall::linalg::decompose);

namespace farcall::linalg {
namespace {

const RegisterTarget kRegister("farcall_gees", farcall_gees, 1, {.vmap_method = "broadcast_all"});

}  // namespace

Schur schur(const Array& x, bool vectors) {
  check_square("schur", x);
  const auto layout = column_major(x.rank());
  const size_t count = vectors ? 2 : 1;
  const FfiCall call("farcall_gees", std::vector(count, x.type().strengthened()),
                     {.input_layouts = {{layout}},
                      .output_layouts = std::vector<MajorToMinor>(count, layout),
                      .input_output_aliases = {{0, 0}}});
  const auto results = call({x});
  return {results[0], vectors ? results[1] : Array()};
}

}  // namespace farcall::linalg
