// Products of vectors and matrices, strict about shapes as JAX's lax is (namespace farcall::lax).
// See dot_general of lax.h for preferred_element_type.
#pragma once

#include <optional>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// Of vectors and matrices. Raises TypeError for other ranks, INVALID_ARGUMENT for sizes that
// differ.
FARCALL_API Array dot(const Array& lhs, const Array& rhs,
                      std::optional<DType> preferred_element_type = {});
// Of matrices stacked along the same dimensions in front, two operands of one rank. Raises
// INVALID_ARGUMENT.
FARCALL_API Array batch_matmul(const Array& lhs, const Array& rhs);

// The rows of lhs [m, k], in groups that follow one another, each times the matrix of its group in
// rhs [g, k, n]; group_sizes, integers [g], says how many rows each group has. Rows behind the last
// group give 0. The result is [m, n]. Raises INVALID_ARGUMENT for other shapes.
FARCALL_API Array ragged_dot(const Array& lhs, const Array& rhs, const Array& group_sizes,
                             std::optional<DType> preferred_element_type = {});

}  // namespace farcall::lax
