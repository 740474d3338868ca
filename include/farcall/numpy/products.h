// Products made of matmul, dot, tensordot and einsum (ops/numpy.h, ops/numpy_arrays.h), and of
// vectors that slide along each other (namespace farcall::numpy).
//
// Operands are promoted to one dtype. With `preferred` the result has that dtype, and so have the
// sums where it is wider than the operands. All raise Error (INVALID_ARGUMENT) naming the function
// for shapes and axes that do not fit.
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
// Summed over the last `num_axes` of x and the first of y.
FARCALL_API Array tensordot(const Array& x, const Array& y, int64_t num_axes = 2,
                            std::optional<DType> preferred = {});
// Summed over the last axis of both; with a scalar, the elementwise product.
FARCALL_API Array inner(const Array& x, const Array& y, std::optional<DType> preferred = {});
// The sum of all products of elements, those of x conjugated; both are flattened.
FARCALL_API Array vdot(const Array& x, const Array& y, std::optional<DType> preferred = {});
// The sums along an axis of products, the elements of x conjugated; the other axes are broadcast.
FARCALL_API Array vecdot(const Array& x, const Array& y, int64_t axis = -1,
                         std::optional<DType> preferred = {});
// [..., m, n] times [..., n], and the conjugate of [..., m] times [..., m, n].
FARCALL_API Array matvec(const Array& x, const Array& y);
FARCALL_API Array vecmat(const Array& x, const Array& y);
// A copy of y for each element of x, times that element.
FARCALL_API Array kron(const Array& x, const Array& y);

// Where the vectors lie in the operands, and in the result unless both have two elements.
struct CrossAxes {
  int64_t x = -1, y = -1, result = -1;
};
// The cross product of vectors of two or three elements; of two and two its last element alone.
FARCALL_API Array cross(const Array& x, const Array& y, const CrossAxes& axes = {});

// Which places of one array along another count: all where they overlap; as many as the larger one
// has elements, from the middle; those where the smaller one lies within the larger one.
enum class ConvolveMode { kFull, kSame, kValid };
// The convolution of two vectors. `preferred` is the dtype to multiply in.
FARCALL_API Array convolve(const Array& a, const Array& v, ConvolveMode mode = ConvolveMode::kFull,
                           std::optional<DType> preferred = {});
// The sums of products of a and the conjugate of v, which moves along it.
FARCALL_API Array correlate(const Array& a, const Array& v,
                            ConvolveMode mode = ConvolveMode::kValid,
                            std::optional<DType> preferred = {});

}  // namespace farcall::numpy
