// The primitives as functions (namespace farcall::lax). They are strict, as in JAX's lax: all
// operands have the same dtype, and the same shape unless they are scalars. farcall::numpy promotes
// and broadcasts.
//
// All raise Error (INVALID_ARGUMENT) naming the operation if the operands do not fit. Axes and
// dimensions are not negative. The parameters are described in farcall/primitives/.
#pragma once

#include <cstdint>
#include <optional>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// Elementwise functions of one or two operands: neg, exp, add, lt and so on; see
// elementwise_list.h. They raise TypeError for a dtype that they do not take.
#define FARCALL_UNARY(name, ...) FARCALL_API Array name(const Array& x);
#define FARCALL_BINARY(name, ...) FARCALL_API Array name(const Array& x, const Array& y);
#include <farcall/ops/elementwise_list.h>

// x^y, computed by multiplication. For integers, y must not be negative.
FARCALL_API Array integer_pow(const Array& x, int64_t y);
// The nearest integers, as floats. Halves are rounded away from zero (method 0) or to even (1).
FARCALL_API Array round(const Array& x, int64_t rounding_method = 0);
// Floats become integers by truncation toward zero. Returns x itself if nothing changes. Raises
// TypeError for conversions between random keys and numbers.
FARCALL_API Array convert_element_type(const Array& x, DType dtype, bool weak_type = false);
// The same bits as another dtype. A narrower dtype adds a last dimension for the parts of each
// element, the lowest bits first; a wider one takes the last dimension away, whose size must fit.
FARCALL_API Array bitcast_convert_type(const Array& x, DType dtype);
// Rounds to the precision of a float with this many bits; the dtype of x is kept.
FARCALL_API Array reduce_precision(const Array& x, int64_t exponent_bits, int64_t mantissa_bits);

// A copy of x.
FARCALL_API Array copy(const Array& x);
// Returns x with a zero derivative.
FARCALL_API Array stop_gradient(const Array& x);

// cases[which], elementwise. `which` is bool (two cases) or int32; it is a scalar or has the cases'
// shape.
FARCALL_API Array select_n(const Array& which, ListOf<Array> cases);
// The regularized incomplete beta function; differentiable with respect to x only.
FARCALL_API Array betainc(const Array& a, const Array& b, const Array& x);
// min(max(x, low), high); not for complex numbers.
FARCALL_API Array clamp(const Array& low, const Array& x, const Array& high);

// Dimension i of x becomes dimension broadcast_dimensions[i] of the result. Its size is that of the
// result, or 1.
FARCALL_API Array broadcast_in_dim(const Array& x, ListOf<int64_t> shape,
                                   ListOf<int64_t> broadcast_dimensions);
// reshape: the same elements, in row-major order, in another shape. transpose: dimension i of the
// result is dimension permutation[i] of x. Both return x itself if nothing changes.
FARCALL_API Array reshape(const Array& x, ListOf<int64_t> new_sizes);
FARCALL_API Array transpose(const Array& x, ListOf<int64_t> permutation);
// expand_dims inserts dimensions of size 1 at these positions of the result. squeeze removes these
// dimensions, which must have size 1.
FARCALL_API Array expand_dims(const Array& x, ListOf<int64_t> dimensions);
FARCALL_API Array squeeze(const Array& x, ListOf<int64_t> dimensions);
// The elements start, start + stride, … below the limit of each dimension. Strides default to 1.
FARCALL_API Array slice(const Array& x, ListOf<int64_t> start_indices,
                        ListOf<int64_t> limit_indices, ListOf<int64_t> strides = {});
// Operands may differ in size only along `dimension`.
FARCALL_API Array concatenate(ListOf<Array> operands, int64_t dimension);
// Reverses the order of the elements along these dimensions.
FARCALL_API Array rev(const Array& x, ListOf<int64_t> dimensions);
// 0, 1, 2, … along `dimension`.
FARCALL_API Array iota(DType dtype, ListOf<int64_t> shape, int64_t dimension);

// Reductions along `axes`, which increase and are removed. reduce_and and reduce_or
// take integers (bitwise) and bools. An empty reduction gives the identity; for max and min, the
// lowest and the highest number of the dtype (infinities for floats).
FARCALL_API Array reduce_sum(const Array& x, ListOf<int64_t> axes);
FARCALL_API Array reduce_prod(const Array& x, ListOf<int64_t> axes);
FARCALL_API Array reduce_max(const Array& x, ListOf<int64_t> axes);
FARCALL_API Array reduce_min(const Array& x, ListOf<int64_t> axes);
FARCALL_API Array reduce_and(const Array& x, ListOf<int64_t> axes);
FARCALL_API Array reduce_or(const Array& x, ListOf<int64_t> axes);
// The index of the first greatest or least element along one axis, or of the first NaN. Raises if
// the axis has no elements.
FARCALL_API Array argmax(const Array& x, int64_t axis, DType index_dtype = DType::kInt32);
FARCALL_API Array argmin(const Array& x, int64_t axis, DType index_dtype = DType::kInt32);

// Sums products over the contracting dimensions, for each index of the batch dimensions. The
// dimensions of the result: batch, the others of lhs, the others of rhs. The result has the
// preferred dtype; if that is wider than the operands', the sums are computed in it. The precision
// is that of the PrecisionScope (core/precision.h).
FARCALL_API Array dot_general(const Array& lhs, const Array& rhs, ListOf<int64_t> lhs_contracting,
                              ListOf<int64_t> rhs_contracting, ListOf<int64_t> lhs_batch = {},
                              ListOf<int64_t> rhs_batch = {},
                              std::optional<DType> preferred_element_type = {});

// A new token: a value without elements that defines the order of effects.
FARCALL_API Array create_token();

}  // namespace farcall::lax
