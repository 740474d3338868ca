// Shared by transformation rules.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include <farcall/trace/array.h>
#include <farcall/trace/rules.h>

namespace farcall {

// ---- constants and shapes

// A strongly typed scalar.
Array scalar_of(DType dtype, double value);
inline Array like(const Array& x, double value) { return scalar_of(x.dtype(), value); }

// The values of an array of any integer dtype. They must be known.
std::vector<int64_t> integer_values(const Array& x);

// Broadcasts `x`, a scalar or an array of this shape, to this shape.
Array broadcast_scalar(const Array& x, std::span<const int64_t> shape);
// The transpose of broadcast_scalar: the cotangent of an operand of this type.
Array unbroadcast(const Array& cotangent, ShapeDtype type);

// if_true where `which` is true and if_false elsewhere; all of one shape, or scalars.
Array select(const Array& which, const Array& if_true, const Array& if_false);
// The rows [start, limit) along the first dimension.
Array rows(const Array& x, int64_t start, int64_t limit);

// 0, 1, …, count - 1, the numbers of `count` dimensions.
std::vector<int64_t> all_dimensions(size_t count);
Shape to_shape(std::span<const int64_t> sizes);

// ---- derivatives

// A result and its tangent: the sum of the terms. Null terms are zero; scalars are broadcast.
JvpResults with_tangent(const Array& result, std::initializer_list<Array> terms);

// x^y for x >= 0 as at_zero * exp(logarithm). at_zero is the power where x is 0, else 1; the
// exponential gives the power elsewhere. Callers may add other exponents to `logarithm` to avoid
// overflow. Unlike exp(y log(x)), it has all derivatives at zero.
struct PowerInParts {
  Array logarithm, at_zero;
};
PowerInParts power_in_parts(const Array& x, const Array& y);

// The rule of an operation whose derivative is zero almost everywhere.
JvpResults zero_jvp(const JvpCall& call);

// Raises the error for an operation transposed with respect to operands in which it is not linear.
[[noreturn]] void not_linear(const Primitive& primitive);

// ---- batching

// The rule of elementwise operations, which take operands of one shape and scalars.
BatchResults batch_elementwise(const BatchCall& call);

// The index of dimension `i` of one element in an array whose batch dimension is `axis`.
inline int64_t past_batch(int64_t i, int64_t axis) { return i < axis ? i : i + 1; }
std::vector<int64_t> past_batch(std::span<const int64_t> dimensions, int64_t axis);
// These sizes with the batch size inserted at `axis`.
Shape with_batch(std::span<const int64_t> sizes, int64_t axis, int64_t size);

}  // namespace farcall
