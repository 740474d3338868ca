// Pieces that transformation rules share.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include <farcall/trace/array.h>
#include <farcall/trace/rules.h>

namespace farcall {

// ---- constants and shapes

// A strongly typed scalar, which operations take together with arrays of its dtype.
Array scalar_of(DType dtype, double value);
inline Array like(const Array& x, double value) { return scalar_of(x.dtype(), value); }

// The values of integers of any dtype that are known already.
std::vector<int64_t> integer_values(const Array& x);

// x, a scalar or of this shape already, in this shape.
Array broadcast_scalar(const Array& x, std::span<const int64_t> shape);
// The transpose of that: the cotangent of an operand of this type.
Array unbroadcast(const Array& cotangent, ShapeDtype type);

// if_true where `which` is true and if_false elsewhere; all of one shape, or scalars.
Array select(const Array& which, const Array& if_true, const Array& if_false);
// The elements start up to before limit along the first dimension.
Array rows(const Array& x, int64_t start, int64_t limit);

// 0, 1, …, count - 1, the numbers of `count` dimensions.
std::vector<int64_t> all_dimensions(size_t count);
Shape to_shape(std::span<const int64_t> sizes);

// ---- derivatives

// A result and its tangent, the sum of terms of which null ones are zero and scalars count for all
// elements.
JvpResults with_tangent(const Array& result, std::initializer_list<Array> terms);

// x^y for x of zero or more, as at_zero * exp(logarithm): a power where x is 0, and elsewhere the
// exponential, which other exponents can be added to before it leaves the range of numbers. Unlike
// exp(y log(x)) it has all derivatives at zero.
struct PowerInParts {
  Array logarithm, at_zero;
};
PowerInParts power_in_parts(const Array& x, const Array& y);

// The rule of an operation that is linear in its one operand: its tangent goes the same way.
JvpResults linear_jvp(const JvpCall& call);
// The rule of an operation whose derivative is zero wherever it has one.
JvpResults zero_jvp(const JvpCall& call);

// Raises the error for an operation transposed with respect to operands in which it is not linear.
[[noreturn]] void not_linear(const Primitive& primitive);

// ---- batching

// The rule of elementwise operations, which take operands of one shape and scalars.
BatchResults batch_elementwise(const BatchCall& call);

// The place of dimension `i` of an element in an array whose batch dimension is `axis`.
inline int64_t past_batch(int64_t i, int64_t axis) { return i < axis ? i : i + 1; }
std::vector<int64_t> past_batch(std::span<const int64_t> dimensions, int64_t axis);
// These sizes with that of the batch at `axis`.
Shape with_batch(std::span<const int64_t> sizes, int64_t axis, int64_t size);

}  // namespace farcall
