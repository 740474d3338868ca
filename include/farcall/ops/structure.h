// Functions that reshape, split and combine arrays (namespace farcall::lax), strict about shapes as
// JAX's lax. Negative axes, where allowed, count from the end.
//
// All raise Error (INVALID_ARGUMENT) naming the function for shapes and axes that do not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// Repeats the operand along new leading dimensions of these sizes.
FARCALL_API Array broadcast(const Array& operand, ListOf<int64_t> sizes);
// Adds leading dimensions of size 1 until there are `rank`.
FARCALL_API Array broadcast_to_rank(const Array& x, int64_t rank);
// Merges the dimensions from `start` to before `stop` (default: the rank) into one. Bounds are
// clamped to the rank, as in Python's slices.
FARCALL_API Array collapse(const Array& operand, int64_t start, std::optional<int64_t> stop = {});
// Repeats the operand this many times along each dimension.
FARCALL_API Array tile(const Array& operand, ListOf<int64_t> repeats);

// Consecutive parts of these sizes along the axis; the sizes add up to its size.
FARCALL_API std::vector<Array> split(const Array& operand, ListOf<int64_t> sizes, int64_t axis = 0);
// The slices of src at the index vectors `indices` [n], one for each of `axes`. The result has a
// leading dimension n, then the other dimensions of src.
FARCALL_API Array index_take(const Array& src, ListOf<Array> indices, ListOf<int64_t> axes);

}  // namespace farcall::lax
