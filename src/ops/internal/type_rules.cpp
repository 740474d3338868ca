#include "ops/internal/type_rules.h"

#include <algorithm>

#include <fmt/format.h>

namespace farcall {

void type_error(std::string message) {
  throw Error(ErrorCode::kInvalidArgument, std::move(message));
}

void check_operand_count(std::span<const ShapeDtype> inputs, size_t count) {
  if (inputs.size() != count) {
    type_error(
        fmt::format("expected {} operand{}, got {}", count, count == 1 ? "" : "s", inputs.size()));
  }
}

void check_axes(std::span<const int64_t> axes, size_t rank, std::string_view what) {
  int64_t previous = -1;
  for (const int64_t axis : axes) {
    if (axis <= previous || axis >= static_cast<int64_t>(rank)) {
      type_error(
          fmt::format("{} {} must increase and lie in [0, {})", what, shape_to_string(axes), rank));
    }
    previous = axis;
  }
}

std::string describe(std::span<const ShapeDtype> types) {
  std::string text;
  for (const ShapeDtype& type : types) {
    if (!text.empty()) text += ", ";
    text += type.to_string();
  }
  return text;
}

std::span<const int64_t> elementwise_shape(std::span<const ShapeDtype> inputs) {
  std::span<const int64_t> shape = inputs[0].shape();
  for (const ShapeDtype& input : inputs) {
    if (input.rank() == 0) continue;
    if (shape.empty()) {
      shape = input.shape();
    } else if (!std::ranges::equal(shape, input.shape())) {
      type_error(
          fmt::format("operands must have one shape, or be scalars; got {}", describe(inputs)));
    }
  }
  return shape;
}

ShapeDtype common_dtype(std::span<const ShapeDtype> inputs, std::span<const int64_t> shape) {
  bool weak = true;
  for (const ShapeDtype& input : inputs) {
    if (input.dtype() != inputs[0].dtype()) {
      type_error(
          fmt::format("operands must have one dtype; got {}. Convert them with "
                      "convert_element_type, or use the functions of farcall.numpy, which "
                      "promote",
                      describe(inputs)));
    }
    weak = weak && input.weak_type();
  }
  return {inputs[0].dtype(), shape, weak};
}

}  // namespace farcall
