// Products composed of matmul, dot, tensordot and einsum (ops/numpy.h, ops/numpy_arrays.h), and
// convolution of vectors (namespace farcall::numpy).
//
// Operands are promoted to one dtype. With `preferred`, the result has that dtype, and sums are
// computed in it if it is wider than the operands. All raise Error (INVALID_ARGUMENT) naming the
// function for shapes and axes that do not fit.
#pragma once

#include <cstdint>
#include <optional>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// See ops/numpy.h.
FARCALL_API Array matmul(const Array& x, const Array& y, std::optional<DType> preferred);
FARCALL_API Array dot(const Array& x, const Array& y, std::optional<DType> preferred);
// Sums over the last `num_axes` axes of x and the first ones of y.
FARCALL_API Array tensordot(const Array& x, const Array& y, int64_t num_axes = 2,
                            std::optional<DType> preferred = {});
// Sums over the last axis of both. If one operand is a scalar, the elementwise product.
FARCALL_API Array inner(const Array& x, const Array& y, std::optional<DType> preferred = {});
// The sum of the products conj(x) y over all elements; both operands are flattened.
FARCALL_API Array vdot(const Array& x, const Array& y, std::optional<DType> preferred = {});
// The sums of conj(x) y along an axis; the other axes are broadcast.
FARCALL_API Array vecdot(const Array& x, const Array& y, int64_t axis = -1,
                         std::optional<DType> preferred = {});
// matvec: [..., m, n] times [..., n]. vecmat: the conjugate of [..., m] times [..., m, n].
FARCALL_API Array matvec(const Array& x, const Array& y);
FARCALL_API Array vecmat(const Array& x, const Array& y);
// The Kronecker product: a copy of y for each element of x, times that element.
FARCALL_API Array kron(const Array& x, const Array& y);

// The axes of the vectors in the operands, and in the result unless both vectors have two elements.
struct CrossAxes {
  int64_t x = -1, y = -1, result = -1;
};
// The cross product of vectors of two or three elements. For two vectors of two elements, only its
// last component.
FARCALL_API Array cross(const Array& x, const Array& y, const CrossAxes& axes = {});

// Which positions of one vector along the other give results: kFull, all where they overlap; kSame,
// as many as the larger one has elements, centred; kValid, those where they overlap fully.
enum class ConvolveMode { kFull, kSame, kValid };
// The convolution of two vectors. `preferred` is the dtype of the computation.
FARCALL_API Array convolve(const Array& a, const Array& v, ConvolveMode mode = ConvolveMode::kFull,
                           std::optional<DType> preferred = {});
// The cross-correlation: sums of products of a and the conjugate of v, which is shifted along a.
FARCALL_API Array correlate(const Array& a, const Array& v,
                            ConvolveMode mode = ConvolveMode::kValid,
                            std::optional<DType> preferred = {});

}  // namespace farcall::numpy
