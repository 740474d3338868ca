// eig: eigenvalues and eigenvectors of square matrices.
#include <farcall/ffi.h>

#include <array>
#include <optional>
#include <vector>

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

// LAPACK packs the eigenvectors of a real matrix: for a conjugate pair of eigenvalues, two columns
// hold the real and the imaginary part of one eigenvector.
template <class R>
void unpack(const R* packed, const R* imaginary, int64_t n, std::complex<R>* vectors) {
  for (int64_t j = 0; j < n; ++j) {
    const bool is_pair = imaginary[j] != 0 && j + 1 < n;
    for (int64_t i = 0; i < n; ++i) {
      const R real = packed[j * n + i], imag = is_pair ? packed[(j + 1) * n + i] : R(0);
      vectors[j * n + i] = {real, imag};
      if (is_pair) vectors[(j + 1) * n + i] = {real, -imag};
    }
    if (is_pair) ++j;
  }
}

template <class T>
using Complex = std::complex<lapack::Real<T>>;

template <class T>
struct Workspace {
  T* matrix;
  T* parts;  // the real parts of the eigenvalues, then the imaginary parts
  std::array<T*, 2> packed;
};

template <class T>
ffi::Error decompose_all(const Sizes& sizes, const T* in, Complex<T>* all_values,
                         std::array<Complex<T>*, 2> outs, ffi::ScratchAllocator& allocator,
                         const ffi::ThreadPool& pool) {
  const int n = sizes['n'];
  const int64_t size = int64_t{n} * n;
  BatchLoop loop(pool, sizes.count, 10 * cost_of(n, n, n));
  Scratch scratch(allocator);
  std::vector<Workspace<T>> spaces(static_cast<size_t>(loop.num_workers()));
  for (Workspace<T>& space : spaces) {
    space.matrix = scratch.take<T>(size);
    space.parts = scratch.take<T>(2 * int64_t{n});
    for (size_t side = 0; side < 2; ++side) {
      if (outs[side]) space.packed[side] = scratch.take<T>(size);
    }
  }
  const auto run = [&](const Workspace<T>& space, const lapack::Work<T>& work) {
    const int rows = std::max(1, n);
    return lapack::geev(outs[0] ? 'V' : 'N', outs[1] ? 'V' : 'N', n, space.matrix, rows,
                        space.parts, space.packed[0], rows, space.packed[1], rows, work);
  };
  const auto works =
      scratch.works<T>(loop.num_workers(), 2 * int64_t{n}, 0,
                       [&](const lapack::Work<T>& work) { return run(spaces[0], work); });
  if (scratch.error().failure()) return scratch.error();
  return loop.run([&](int64_t i, size_t worker) {
    const auto& [matrix, parts, packed] = spaces[worker];
    Complex<T>* values = all_values + i * n;
    std::copy_n(in + i * size, size, matrix);
    const bool done = all_finite(matrix, size) && run(spaces[worker], works[worker]) == 0;
    for (int64_t j = 0; j < n && done; ++j) {
      if constexpr (lapack::kIsComplex<T>) {
        values[j] = parts[j];
      } else {
        values[j] = {parts[j], parts[n + j]};
      }
    }
    if (!done) fill_nan(values, n);
    for (size_t side = 0; side < 2; ++side) {
      if (!outs[side]) continue;
      Complex<T>* out = outs[side] + i * size;
      if (!done) {
        fill_nan(out, size);
      } else if constexpr (lapack::kIsComplex<T>) {
        std::copy_n(packed[side], size, out);
      } else {
        unpack(packed[side], parts + n, n, out);
      }
    }
  });
}

// The vectors are those of the requested sides, left before right.
constexpr Wanted kWanted[] = {{"operand a", Of::kMatrix, "nn"},
                              {"result w", Of::kComplex, "n"},
                              {"result 1, the vectors,", Of::kComplex, "nn"},
                              {"result 2, the right vectors,", Of::kComplex, "nn"}};

// Matrices are column-major in this function.
ffi::Error decompose(ffi::AnyBuffer a, ffi::Result<ffi::AnyBuffer> w, ffi::RemainingRets vectors,
                     ffi::ScratchAllocator allocator, ffi::ThreadPool pool, bool left, bool right) {
  if (vectors.size() != size_t{left} + size_t{right}) {
    return ffi::Error::InvalidArgument(
        "expected one result for the eigenvalues and one per requested side");
  }
  std::vector<ffi::AnyBuffer> buffers = {a, *w};
  std::array<void*, 2> data = {};
  for (const auto& [side, wanted] : {std::pair(0, left), std::pair(1, right)}) {
    if (!wanted) continue;
    const auto result = vectors.get<ffi::AnyBuffer>(buffers.size() - 2);
    if (result.has_error()) return result.error();
    buffers.push_back(**result);
    data[static_cast<size_t>(side)] = (**result).untyped_data();
  }
  const auto sizes = check_buffers(kWanted, buffers);
  if (sizes.has_error()) return sizes.error();
  return for_lapack_type(sizes->dtype, [&]<class T>() -> ffi::Error {
    return decompose_all<T>(*sizes, a.reinterpret_data<T>(), w->reinterpret_data<Complex<T>>(),
                            {static_cast<Complex<T>*>(data[0]), static_cast<Complex<T>*>(data[1])},
                            allocator, pool);
  });
}

}  // namespace
}  // namespace farcall::linalg

FARCALL_DEFINE_HANDLER(farcall_geev, farcall::linalg::decompose, "left", "right");

namespace farcall::linalg {
namespace {

std::vector<ShapeDtype> shape(std::span<const ShapeDtype> operands, const Attributes& attributes) {
  const ShapeDtype matrices(complex_dtype(operands[0].dtype()), operands[0].shape());
  std::vector<ShapeDtype> results = {{matrices.dtype(), with_last(operands[0], 1, {})}};
  for (const char* side : {"left", "right"}) {
    if (flag(attributes, side)) results.push_back(matrices);
  }
  return results;
}

std::vector<Array> call(const Array& x, bool left, bool right) {
  const auto layout = column_major(x.rank());
  std::vector<MajorToMinor> outputs = {std::nullopt};
  outputs.resize(1 + size_t{left} + size_t{right}, layout);
  return call_target("farcall_geev", shape, {x}, {{"left", left}, {"right", right}},
                     {.input_layouts = {{layout}}, .output_layouts = std::move(outputs)});
}

// Derivatives of w and v. Each column of v has length 1 and its largest element is real. With C =
// V^-1 dA V and F_ij = 1 / (w_j - w_i) off the diagonal: dw = diag(C), and dV is V (F o C) plus the
// multiple of each column that preserves its length and phase.
struct VectorTangents {
  Array dw, dv;
};
VectorTangents vector_tangents(const Array& w, const Array& v, const Array& da) {
  const DType dtype = w.dtype();
  const Array c = solve(v, matmul(da, v));
  const Array one = eye(columns(v), dtype);
  const Array f = numpy::divide(number(1, dtype), as_row(w) - as_column(w) + one) - one;
  const Array u = matmul(v, lax::mul(f, c));
  if (v.size() == 0) return {diagonal(c), u};

  const int64_t row_axis = static_cast<int64_t>(v.rank()) - 2;
  const Array largest = as_row(lax::argmax(lax::abs(v), row_axis));
  const int64_t column_shape[] = {rows(v), 1};
  const Array is_largest = numpy::equal(lax::iota(DType::kInt32, column_shape, 0), largest);
  const auto at_largest = [&](const Array& x) {
    return numpy::sum(numpy::where(is_largest, x, number(0, dtype)),
                      std::vector<int64_t>{row_axis});
  };
  const Array along = numpy::real(numpy::sum(lax::mul(conj(v), u), std::vector<int64_t>{row_axis}));
  const Array turn = numpy::divide(numpy::imag(at_largest(u)), numpy::real(at_largest(v)));
  return {diagonal(c), lax::sub(u, v * as_row(lax::complex(along, turn)))};
}

JvpResults differentiate(std::span<const Array> primals, std::span<const Array> tangents, bool left,
                         bool right, bool enable_eigvec_derivs) {
  if ((left || right) && !enable_eigvec_derivs) {
    throw Error(ErrorCode::kUnimplemented,
                "eig: derivatives of eigenvectors hold only where all eigenvalues are distinct; "
                "ask for them with enable_eigvec_derivs=True, or compute only the eigenvalues");
  }
  auto results = call(primals[0], left, /*right=*/true);
  const Array &w = results[0], &v = results.back();
  const Array da = lax::convert_element_type(tangents[0], w.dtype());
  const auto [dw, dv] = vector_tangents(w, v, da);
  JvpResults all = {{w}, {dw}};
  if (left) {
    all.primals.push_back(results[1]);
    all.tangents.push_back(vector_tangents(conj(w), results[1], adjoint(da)).dv);
  }
  if (right) {
    all.primals.push_back(v);
    all.tangents.push_back(dv);
  }
  return all;
}

// The rule of the target, also for calls by name; derivatives of the vectors may be requested.
JvpResults jvp(const TargetCall& target, std::span<const Array> primals,
               std::span<const Array> tangents) {
  return differentiate(primals, tangents, flag(target.attributes(), "left"),
                       flag(target.attributes(), "right"), /*enable_eigvec_derivs=*/true);
}

const RegisterTarget kRegister("farcall_geev", farcall_geev, 1,
                               {.shape = shape, .jvp = jvp, .vmap_method = "broadcast_all"});

}  // namespace

Eig eig(const Array& x, bool left, bool right, bool enable_eigvec_derivs) {
  check_square("eig", x);
  auto rules = std::make_shared<CustomCall>();
  rules->name = "eig";
  rules->function = [=](std::span<const Array> inputs) { return call(inputs[0], left, right); };
  rules->jvp = [=](std::span<const Array> primals, std::span<const Array> tangents) {
    return differentiate(primals, tangents, left, right, enable_eigvec_derivs);
  };
  const auto results = call_custom(rules, std::span(&x, 1));
  Eig parts = {results[0], {}, {}};
  if (left) parts.left = results[1];
  if (right) parts.right = results.back();
  return parts;
}

}  // namespace farcall::linalg
