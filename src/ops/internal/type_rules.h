// Shared by type rules. Messages omit the operation's name, which infer_types adds.
#pragma once

#include <span>

#include <farcall/core/error.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/core/type_text.h>

namespace farcall {

// Raises unless there are `count` operands.
void check_operand_count(std::span<const ShapeDtype> inputs, size_t count);
// Raises unless `axes` are distinct, increasing and below `rank`.
void check_axes(std::span<const int64_t> axes, size_t rank, std::string_view what);

// The shape of an elementwise result: the shape of the operands that are not scalars. Raises if
// they differ.
std::span<const int64_t> elementwise_shape(std::span<const ShapeDtype> inputs);
// An array type of this shape with the common dtype of the operands; weak if all are. Raises if the
// dtypes differ.
ShapeDtype common_dtype(std::span<const ShapeDtype> inputs, std::span<const int64_t> shape);

}  // namespace farcall
