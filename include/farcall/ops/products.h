// Products of vectors and matrices (namespace farcall::lax), strict about shapes as JAX's lax. For
// preferred_element_type see dot_general in lax.h.
#pragma once

#include <optional>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// Takes vectors and matrices. Raises TypeError for other ranks, INVALID_ARGUMENT if the sizes
// differ.
FARCALL_API Array dot(const Array& lhs, const Array& rhs,
                      std::optional<DType> preferred_element_type = {});
// The products of stacked matrices. Both operands have the same rank and the same leading
// dimensions. Raises INVALID_ARGUMENT if they differ.
FARCALL_API Array batch_matmul(const Array& lhs, const Array& rhs);

// Multiplies consecutive groups of rows of lhs [m, k] by one matrix per group of rhs [g, k, n].
// group_sizes, integers [g], gives the number of rows of each group. Rows after the last group give
// 0. The result is [m, n]. Raises INVALID_ARGUMENT for other shapes.
FARCALL_API Array ragged_dot(const Array& lhs, const Array& rhs, const Array& group_sizes,
                             std::optional<DType> preferred_element_type = {});

}  // namespace farcall::lax
