// Pieces that type rules share. Messages leave out the operation's name, which infer_types adds.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <farcall/core/error.h>
#include <farcall/core/shape_dtype.h>

namespace farcall {

[[noreturn]] void type_error(std::string message);

// Raises unless there are `count` operands.
void check_operand_count(std::span<const ShapeDtype> inputs, size_t count);
// Raises unless `axes` are distinct, increasing and below `rank`.
void check_axes(std::span<const int64_t> axes, size_t rank, std::string_view what);
// "f32[2,3], i32[4]"
std::string describe(std::span<const ShapeDtype> types);

// The shape of an elementwise result: that of the operands that are no scalars. Raises when they
// differ.
std::span<const int64_t> elementwise_shape(std::span<const ShapeDtype> inputs);
// The one dtype of the operands from `first` on; raises when they differ. Weak if all are.
ShapeDtype common_dtype(std::span<const ShapeDtype> inputs, std::span<const int64_t> shape);

}  // namespace farcall
