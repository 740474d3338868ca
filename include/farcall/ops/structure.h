// Arrays in other shapes, put together and taken apart, strict about shapes as JAX's lax is
// (namespace farcall::lax). Where an axis may be negative, it counts from the end.
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

// The operand, repeated along new dimensions of these sizes in front.
FARCALL_API Array broadcast(const Array& operand, ListOf<int64_t> sizes);
// With dimensions of size 1 in front, so that there are `rank`.
FARCALL_API Array broadcast_to_rank(const Array& x, int64_t rank);
// With the dimensions from `start` up to before `stop`, the rank if left out, made into one. What
// lies outside of the rank is moved inside, as slices of Python do it.
FARCALL_API Array collapse(const Array& operand, int64_t start, std::optional<int64_t> stop = {});
// Repeated so often along each dimension.
FARCALL_API Array tile(const Array& operand, ListOf<int64_t> repeats);

// Consecutive parts of these sizes along the axis; together they are all of it.
FARCALL_API std::vector<Array> split(const Array& operand, ListOf<int64_t> sizes, int64_t axis = 0);
// The slices of src at the vectors `indices` [n], one for each of `axes`. The result has n in front
// and then the other dimensions of src.
FARCALL_API Array index_take(const Array& src, ListOf<Array> indices, ListOf<int64_t> axes);

}  // namespace farcall::lax
