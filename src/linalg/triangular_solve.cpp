// triangular_solve: systems with a triangular matrix, by BLAS.
#include <farcall/ffi.h>

#include <farcall/linalg/linalg.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/differentiate.h>

#include "linalg/batch.h"
#include "linalg/batch_loop.h"
#include "linalg/internal/arrays.h"
#include "linalg/small.h"
#include "linalg/stack.h"
#include "linalg/target.h"

namespace farcall::linalg {
namespace {

constexpr Wanted kWantedLeft[] = {{"operand a", Of::kMatrix, "mm"},
                                  {"operand b", Of::kMatrix, "mk"},
                                  {"result x", Of::kMatrix, "mk", 1}};
constexpr Wanted kWantedRight[] = {{"operand a", Of::kMatrix, "kk"},
                                   {"operand b", Of::kMatrix, "mk"},
                                   {"result x", Of::kMatrix, "mk", 1}};

ffi::Error solve_triangular(ffi::AnyBuffer a, ffi::AnyBuffer b, ffi::Result<ffi::AnyBuffer> x,
                            ffi::ThreadPool pool, bool left_side, bool lower, bool transpose_a,
                            bool conjugate_a, bool unit_diagonal) {
  const ffi::AnyBuffer buffers[] = {a, b, *x};
  const auto sizes = check_buffers(left_side ? kWantedLeft : kWantedRight, buffers);
  if (sizes.has_error()) return sizes.error();
  const int m = (*sizes)['m'], k = (*sizes)['k'], n = left_side ? m : k;
  const lapack::Triangle how = {left_side ? CblasLeft : CblasRight, lower ? CblasLower : CblasUpper,
                                !transpose_a  ? CblasNoTrans
                                : conjugate_a ? CblasConjTrans
                                              : CblasTrans,
                                unit_diagonal ? CblasUnit : CblasNonUnit};
  return for_lapack_type(sizes->dtype, [&]<class T>() -> ffi::Error {
    T* out = x->reinterpret_data<T>();
    const auto count = static_cast<int64_t>(b.element_count());
    copy_unless_same(b.reinterpret_data<T>(), out, count);
    // BLAS cannot conjugate without transposing: conj(a)^-1 b is the conjugate of a^-1 conj(b).
    const bool around = lapack::kIsComplex<T> && conjugate_a && !transpose_a;
    if (around) std::transform(out, out + count, out, conj<T>);
    const T* matrix = a.reinterpret_data<T>();
    const SideParts sides(left_side ? k : m, n);
    BatchLoop loop(pool, sizes->count * sides.num_parts(), cost_of(n, n, sides.size(0)) / 2,
                   !small::fits(m, k));
    ffi::Error error = loop.run([&](int64_t step, size_t) {
      const int64_t i = step / sides.num_parts(), part = step % sides.num_parts();
      const T* triangle = matrix + i * n * n;
      T* solution = out + i * m * k + sides.first(part) * (left_side ? 1 : k);
      const int size = sides.size(part);
      small::solve(how, left_side ? m : size, left_side ? size : k, triangle, n, solution, k);
    });
    if (around) std::transform(out, out + count, out, conj<T>);
    return error;
  });
}

}  // namespace
}  // namespace farcall::linalg

FARCALL_DEFINE_HANDLER(farcall_trsm, farcall::linalg::solve_triangular, "left_side", "lower",
                       "transpose_a", "conjugate_a", "unit_diagonal");

namespace farcall::linalg {
namespace {

Attributes attributes_of(const TriangularOptions& o) {
  return {{"left_side", o.left_side},
          {"lower", o.lower},
          {"transpose_a", o.transpose_a},
          {"conjugate_a", o.conjugate_a},
          {"unit_diagonal", o.unit_diagonal}};
}

TriangularOptions options_of(const Attributes& attributes) {
  return {flag(attributes, "left_side"), flag(attributes, "lower"), flag(attributes, "transpose_a"),
          flag(attributes, "conjugate_a"), flag(attributes, "unit_diagonal")};
}

std::vector<ShapeDtype> shape(std::span<const ShapeDtype> operands, const Attributes&) {
  return {operands[1]};
}

Array call(const Array& a, const Array& b, const TriangularOptions& options) {
  return call_target("farcall_trsm", shape, {a, b}, attributes_of(options),
                     {.input_output_aliases = {{1, 0}}})[0];
}

// dx = op(a)^-1 (db - op(da) x); likewise for systems solved from the right.
JvpResults jvp(const TargetCall& target, std::span<const Array> primals,
               std::span<const Array> tangents) {
  const TriangularOptions options = options_of(target.attributes());
  const Array x = call(primals[0], primals[1], options);
  Array side = tangents[1];
  if (!tangents[0].is_null()) {
    const int64_t off = options.unit_diagonal ? 1 : 0;
    Array da = options.lower ? numpy::tril(tangents[0], -off) : numpy::triu(tangents[0], off);
    if (options.transpose_a) da = transposed(da);
    if (options.conjugate_a) da = conj(da);
    side = add_tangents(side, lax::neg(options.left_side ? matmul(da, x) : matmul(x, da)));
  }
  return {{x}, {call(primals[0], side, options)}};
}

std::vector<Array> transpose(const TargetCall& target, std::span<const Array> operands,
                             std::span<const Array> cotangents) {
  TriangularOptions options = options_of(target.attributes());
  options.transpose_a = !options.transpose_a;
  return {Array(), call(operands[0], cotangents[0], options)};
}

BatchResults batch(const TargetCall& target, std::span<const Array> operands,
                   std::span<const int64_t> axes, const BatchAxis& axis) {
  const TriangularOptions options = options_of(target.attributes());
  return batch_system(operands, axes, axis, options.left_side ? Sides::kColumns : Sides::kRows,
                      [&](std::span<const Array> all) { return call(all[0], all[1], options); });
}

const RegisterTarget kRegister(
    "farcall_trsm", farcall_trsm, 2,
    {.shape = shape, .jvp = jvp, .linear_in = {{1}}, .transpose = transpose, .batch = batch});

}  // namespace

Array triangular_solve(const Array& a, const Array& b, const TriangularOptions& options) {
  check_square("triangular_solve", a);
  if (b.rank() + 1 == a.rank()) {
    const Array x = triangular_solve(a, options.left_side ? as_column(b) : as_row(b), options);
    const int64_t axis = options.left_side ? -1 : -2;
    return numpy::squeeze(x, std::vector<int64_t>{axis});
  }
  check_matrices("triangular_solve", b);
  check_alike("triangular_solve", a, b);
  check_sizes("triangular_solve", a, b, options.left_side ? rows(b) : columns(b));
  return call(a, b, options);
}

}  // namespace farcall::linalg
