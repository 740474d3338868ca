// Array functions with numpy's names and semantics (namespace farcall::numpy), and the operators of
// Array. Operands are promoted (promotion.h) and broadcast against each other.
//
// All raise Error (INVALID_ARGUMENT) naming the function if the operands do not fit. Negative axes
// count from the last.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall {
namespace numpy {

// One axis, {several}, or nothing: all axes.
struct Axes : std::optional<std::vector<int64_t>> {
  using optional = std::optional<std::vector<int64_t>>;
  Axes() = default;
  Axes(std::nullopt_t) {}
  Axes(int64_t axis) : optional(std::vector<int64_t>{axis}) {}
  Axes(std::initializer_list<int64_t> axes) : optional(axes) {}
  Axes(std::vector<int64_t> axes) : optional(std::move(axes)) {}
  Axes(optional axes) : optional(std::move(axes)) {}
};

// ---- the operations of elementwise_list.h: add, multiply, exp, sin and so on ----
#define FARCALL_NUMPY_UNARY(name, ...) FARCALL_API Array name(const Array& x);
#define FARCALL_NUMPY_BINARY(name, ...) FARCALL_API Array name(const Array& x, const Array& y);
#include <farcall/ops/elementwise_list.h>

// ---- arithmetic ----
FARCALL_API Array divide(const Array& x, const Array& y);  // true division: floats
FARCALL_API Array floor_divide(const Array& x, const Array& y);
FARCALL_API Array remainder(const Array& x, const Array& y);  // sign of the divisor
// x to the power of y. A concrete integer scalar y does not change the dtype of x (bools become
// int32); raises TypeError if it is negative and x has integers.
FARCALL_API Array power(const Array& x, const Array& y);
FARCALL_API Array arctan2(const Array& x, const Array& y);  // the angle of the point (y, x)
FARCALL_API Array negative(const Array& x);
FARCALL_API Array positive(const Array& x);
FARCALL_API Array absolute(const Array& x);
FARCALL_API Array sign(const Array& x);
FARCALL_API Array square(const Array& x);
// min(max(x, low), high); a bound may be omitted.
FARCALL_API Array clip(const Array& x, const std::optional<Array>& low,
                       const std::optional<Array>& high);
FARCALL_API Array floor(const Array& x);
FARCALL_API Array ceil(const Array& x);
FARCALL_API Array rint(const Array& x);

// ---- floating-point functions ----
// Integers become float32.
FARCALL_API Array log2(const Array& x);
FARCALL_API Array log10(const Array& x);
// bools.
FARCALL_API Array isfinite(const Array& x);
FARCALL_API Array isnan(const Array& x);
FARCALL_API Array isinf(const Array& x);
// For arrays that are not complex: x, zeros, and x.
FARCALL_API Array real(const Array& x);
FARCALL_API Array imag(const Array& x);
FARCALL_API Array conjugate(const Array& x);

// ---- comparison, logic, bits ----
FARCALL_API Array less(const Array& x, const Array& y);
FARCALL_API Array less_equal(const Array& x, const Array& y);
FARCALL_API Array greater(const Array& x, const Array& y);
FARCALL_API Array greater_equal(const Array& x, const Array& y);
FARCALL_API Array logical_and(const Array& x, const Array& y);
FARCALL_API Array logical_or(const Array& x, const Array& y);
FARCALL_API Array logical_xor(const Array& x, const Array& y);
FARCALL_API Array logical_not(const Array& x);
FARCALL_API Array bitwise_not(const Array& x);
FARCALL_API Array left_shift(const Array& x, const Array& y);
FARCALL_API Array right_shift(const Array& x, const Array& y);
// The greatest common divisor and the least common multiple of integers. They are not negative
// unless they overflow.
FARCALL_API Array gcd(const Array& x, const Array& y);
FARCALL_API Array lcm(const Array& x, const Array& y);
// x where the condition is nonzero, else y; all are broadcast together.
FARCALL_API Array where(const Array& condition, const Array& x, const Array& y);

// ---- reductions; with `keepdims`, the reduced axes are kept with size 1 ----
// Sums and products of bools and narrow integers are default integers. max and min are NaN if an
// element is, and raise if there are no elements. any and all are bools.
FARCALL_API Array sum(const Array& x, const Axes& axes = {}, bool keepdims = false);
FARCALL_API Array prod(const Array& x, const Axes& axes = {}, bool keepdims = false);
FARCALL_API Array max(const Array& x, const Axes& axes = {}, bool keepdims = false);
FARCALL_API Array min(const Array& x, const Axes& axes = {}, bool keepdims = false);
FARCALL_API Array any(const Array& x, const Axes& axes = {}, bool keepdims = false);
FARCALL_API Array all(const Array& x, const Axes& axes = {}, bool keepdims = false);
// In the dtype of x, or float32 for integers; the variance of complex numbers is real. Narrow
// floats are summed in float32. The variance is divided by the number of elements minus `ddof`.
FARCALL_API Array mean(const Array& x, const Axes& axes = {}, bool keepdims = false);
FARCALL_API Array var(const Array& x, const Axes& axes = {}, bool keepdims = false,
                      double ddof = 0);
FARCALL_API Array std(const Array& x, const Axes& axes = {}, bool keepdims = false,
                      double ddof = 0);
// The index of the first greatest or least element, or of the first NaN, as a default integer.
// Without an axis, of the flattened array.
FARCALL_API Array argmax(const Array& x, std::optional<int64_t> axis = {}, bool keepdims = false);
FARCALL_API Array argmin(const Array& x, std::optional<int64_t> axis = {}, bool keepdims = false);

// ---- shapes ----
FARCALL_API Array astype(const Array& x, DType dtype);
// One size may be -1; it is computed from the others.
FARCALL_API Array reshape(const Array& x, ListOf<int64_t> shape);
FARCALL_API Array ravel(const Array& x);
// Without axes, the order of all dimensions is reversed.
FARCALL_API Array transpose(const Array& x, const Axes& axes = {});
FARCALL_API Array swapaxes(const Array& x, int64_t axis1, int64_t axis2);
FARCALL_API Array moveaxis(const Array& x, int64_t source, int64_t destination);
FARCALL_API Array broadcast_to(const Array& x, ListOf<int64_t> shape);
FARCALL_API Array expand_dims(const Array& x, ListOf<int64_t> axes);
// Removes dimensions of size 1: these, which must have it, or without axes all that have it.
FARCALL_API Array squeeze(const Array& x, const Axes& axes = {});
FARCALL_API Array concatenate(ListOf<Array> arrays, int64_t axis = 0);
FARCALL_API Array stack(ListOf<Array> arrays, int64_t axis = 0);
FARCALL_API Array flip(const Array& x, const Axes& axes = {});
// The shape that all shapes broadcast to. Raises if there is none.
FARCALL_API Shape broadcast_shapes(std::span<const std::span<const int64_t>> shapes);

// ---- creation ----
FARCALL_API Array zeros(ListOf<int64_t> shape, DType dtype = DType::kFloat32);
FARCALL_API Array ones(ListOf<int64_t> shape, DType dtype = DType::kFloat32);
// The dtype defaults to that of the value.
FARCALL_API Array full(ListOf<int64_t> shape, const Array& value, std::optional<DType> dtype = {});
FARCALL_API Array zeros_like(const Array& x);
FARCALL_API Array ones_like(const Array& x);
FARCALL_API Array arange(double start, double stop, double step = 1, DType dtype = DType::kInt32);
// `num` evenly spaced numbers from `start` to `stop`, along a new dimension `axis`. `stop` is the
// last of them if `endpoint`. `start` and `stop` are broadcast against each other. `dtype` defaults
// to a float. Numbers are computed in `dtype`, but in float64 for integers and in float32 for
// narrow floats.
FARCALL_API Array linspace(const Array& start, const Array& stop, int64_t num = 50,
                           bool endpoint = true, std::optional<DType> dtype = {}, int64_t axis = 0);
// The distance between neighbours in linspace; NaN if there are fewer than two.
FARCALL_API Array linspace_step(const Array& start, const Array& stop, int64_t num = 50,
                                bool endpoint = true, std::optional<DType> dtype = {});
// `base` to the powers that linspace gives; computed in float64 or complex128.
FARCALL_API Array logspace(const Array& start, const Array& stop, int64_t num = 50,
                           bool endpoint = true, const Array& base = 10,
                           std::optional<DType> dtype = {}, int64_t axis = 0);
// A geometric sequence from `start` to `stop`; computed in float64 or complex128.
FARCALL_API Array geomspace(const Array& start, const Array& stop, int64_t num = 50,
                            bool endpoint = true, std::optional<DType> dtype = {},
                            int64_t axis = 0);
FARCALL_API Array eye(int64_t rows, std::optional<int64_t> columns = {},
                      DType dtype = DType::kFloat32);

// ---- products ----
// [..., m, k] times [..., k, n] is [..., m, n]; the leading dimensions are broadcast. A vector is
// [k], and its result lacks that dimension. Raises for scalars.
FARCALL_API Array matmul(const Array& x, const Array& y);
// Sums over the last dimension of x and the second to last of y (the only one of a vector). The
// result has the other dimensions of x, then those of y. With a scalar, the elementwise product.
FARCALL_API Array dot(const Array& x, const Array& y);
// The products of all pairs of elements, [size of x, size of y].
FARCALL_API Array outer(const Array& x, const Array& y);

// ---- indexing; more in numpy_indexing.h ----
struct Slice {
  std::optional<int64_t> start = {}, stop = {}, step = {};
};
struct NewAxis {};
struct Ellipsis {};
// An array index holds integers, or bools, which select the positions that are true.
using Index = std::variant<int64_t, Slice, NewAxis, Ellipsis, Array>;
// x[indices] with numpy's indexing. Raises OUT_OF_RANGE for an integer outside its dimension;
// integers in index arrays are clamped.
FARCALL_API Array take(const Array& x, ListOf<Index> indices);

}  // namespace numpy

// The argument of x[…]: one index, or several in braces.
class IndexList {
 public:
  IndexList(std::initializer_list<numpy::Index> indices) : indices_(indices) {}
  const std::vector<numpy::Index>& all() const { return indices_; }

 private:
  std::vector<numpy::Index> indices_;
};
inline Array indexed(const Array& x, const IndexList& indices) {
  return numpy::take(x, indices.all());
}
inline Array indexed(const Array& x, const numpy::Index& index) { return numpy::take(x, {index}); }

inline Array operator+(const Array& x, const Array& y) { return numpy::add(x, y); }
inline Array operator-(const Array& x, const Array& y) { return numpy::subtract(x, y); }
inline Array operator*(const Array& x, const Array& y) { return numpy::multiply(x, y); }
inline Array operator/(const Array& x, const Array& y) { return numpy::divide(x, y); }
inline Array operator%(const Array& x, const Array& y) { return numpy::remainder(x, y); }
inline Array operator-(const Array& x) { return numpy::negative(x); }
inline Array operator+(const Array& x) { return numpy::positive(x); }
inline Array operator&(const Array& x, const Array& y) { return numpy::bitwise_and(x, y); }
inline Array operator|(const Array& x, const Array& y) { return numpy::bitwise_or(x, y); }
inline Array operator^(const Array& x, const Array& y) { return numpy::bitwise_xor(x, y); }
inline Array operator~(const Array& x) { return numpy::bitwise_not(x); }
inline Array operator<<(const Array& x, const Array& y) { return numpy::left_shift(x, y); }
inline Array operator>>(const Array& x, const Array& y) { return numpy::right_shift(x, y); }
// Comparisons are elementwise and return arrays of bools.
inline Array operator==(const Array& x, const Array& y) { return numpy::equal(x, y); }
inline Array operator!=(const Array& x, const Array& y) { return numpy::not_equal(x, y); }
inline Array operator!(const Array& x) { return numpy::logical_not(x); }
inline Array operator<(const Array& x, const Array& y) { return numpy::less(x, y); }
inline Array operator<=(const Array& x, const Array& y) { return numpy::less_equal(x, y); }
inline Array operator>(const Array& x, const Array& y) { return numpy::greater(x, y); }
inline Array operator>=(const Array& x, const Array& y) { return numpy::greater_equal(x, y); }

// Arrays are immutable: `x` is rebound to a new array.
inline Array& operator+=(Array& x, const Array& y) { return x = x + y; }
inline Array& operator-=(Array& x, const Array& y) { return x = x - y; }
inline Array& operator*=(Array& x, const Array& y) { return x = x * y; }
inline Array& operator/=(Array& x, const Array& y) { return x = x / y; }

}  // namespace farcall
