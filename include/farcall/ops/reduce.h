// Reductions by any function of two values, and products of rows in groups (namespace
// farcall::lax).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// Combines two tuples of scalars, a value for each operand, into one.
using Combine = std::function<std::vector<Array>(std::span<const Array>, std::span<const Array>)>;
// The elements of the operands, arrays of one shape, along some dimensions combined two by two;
// init values are scalars that change nothing. `computation` is associative, since the order is not
// said. Raises INVALID_ARGUMENT for shapes and dimensions that do not fit, TypeError where the
// computation gives values of other types than the operands.
FARCALL_API std::vector<Array> reduce(ListOf<Array> operands, ListOf<Array> init_values,
                                      const Combine& computation, ListOf<int64_t> dimensions);

// The rows of lhs [m, k], in groups that follow one another, each times the matrix of its group in
// rhs [g, k, n]; group_sizes, integers [g], says how many rows each group has. Rows behind the last
// group give 0. The result is [m, n]. Raises INVALID_ARGUMENT for other shapes.
FARCALL_API Array ragged_dot(const Array& lhs, const Array& rhs, const Array& group_sizes,
                             std::optional<DType> preferred_element_type = {});

}  // namespace farcall::lax
