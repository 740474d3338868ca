// Pieces that the functions of farcall::numpy share.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include <farcall/ops/numpy.h>
#include <farcall/ops/promotion.h>

namespace farcall::numpy {

// A non-negative axis below `rank`; raises naming `function`.
int64_t normalize_axis(int64_t axis, size_t rank, std::string_view function);
// Sorted and distinct; all axes when none are given.
std::vector<int64_t> normalize_axes(const Axes& axes, size_t rank, std::string_view function);

// x broadcast to `shape`, unless it is a scalar, which the primitives take as it is.
Array broadcast_operand(const Array& x, std::span<const int64_t> shape);

// Both operands in their common dtype and shape. Raises naming `function`.
std::pair<Array, Array> promote(const Array& x, const Array& y, std::string_view function);
std::pair<Array, Array> promote_inexact(const Array& x, const Array& y, std::string_view function);
Array promote_inexact(const Array& x, std::string_view function);

// Whether elements are other than zero.
Array as_bool(const Array& x);

// Where the result counts, bools count as int32.
Array counted(const Array& x);

}  // namespace farcall::numpy
