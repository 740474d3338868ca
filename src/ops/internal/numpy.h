// Shared by the functions of farcall::numpy.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/ops/numpy.h>
#include <farcall/ops/promotion.h>

namespace farcall::numpy {

// Returns a nonnegative axis below `rank`. Raises, naming `function`, if it is out of range.
int64_t normalize_axis(int64_t axis, size_t rank, std::string_view function);
// The same for several axes: sorted and distinct; all axes if none are given.
std::vector<int64_t> normalize_axes(const Axes& axes, size_t rank, std::string_view function);

// The array and the axis to work along. Without an axis the array is flattened.
struct Along {
  Array x;
  int64_t axis;
  int64_t size() const { return x.shape()[axis]; }
};
Along along(const Array& x, std::optional<int64_t> axis, std::string_view function);

// Broadcasts x to `shape`. Scalars are returned unchanged, because the primitives accept them.
Array broadcast_operand(const Array& x, std::span<const int64_t> shape);

// Converts both operands to their common dtype and shape. Raises, naming `function`, if there is
// none.
std::pair<Array, Array> promote(const Array& x, const Array& y, std::string_view function);
std::pair<Array, Array> promote_inexact(const Array& x, const Array& y, std::string_view function);
Array promote_inexact(const Array& x, std::string_view function);

// Raises, naming `function`, for complex numbers.
void refuse_complex(const Array& x, std::string_view function);

// A number in the dtype of x, weakly typed if x is.
Array number_like(const Array& x, double value);

// Whether elements are nonzero.
Array as_bool(const Array& x);

// Converts bools to the default integer; other dtypes are unchanged.
Array counted(const Array& x);

}  // namespace farcall::numpy
