#include "ops/internal/type_rules.h"

#include <algorithm>

#include <fmt/format.h>

namespace farcall {

void check_operand_count(std::span<const ShapeDtype> inputs, size_t count) {
  if (inputs.size() != count) {
    invalid_argument(
        fmt::format("expected {} operand{}, got {}", count, count == 1 ? "" : "s", inputs.size()));
  }
}

void check_axes(std::span<const int64_t> axes, size_t rank, std::string_view what) {
  int64_t previous = -1;
  for (const int64_t axis : axes) {
    if (axis <= previous || axis >= static_cast<int64_t>(rank)) {
      invalid_argument(
          fmt::format("{} {} must increase and lie in [0, {})", what, shape_to_string(axes), rank));
    }
    previous = axis;
  }
}

std::span<const int64_t> elementwise_shape(std::span<const ShapeDtype> inputs) {
  std::span<const int64_t> shape = inputs[0].shape();
  for (const ShapeDtype& input : inputs) {
    if (input.rank() == 0) continue;
    if (shape.empty()) {
      shape = input.shape();
    } else if (!std::ranges::equal(shape, input.shape())) {
      invalid_argument(fmt::format("operands must have one shape, or be scalars; got {}",
                                   types_to_string(inputs)));
    }
  }
  return shape;
}

ShapeDtype common_dtype(std::span<const ShapeDtype> inputs, std::span<const int64_t> shape) {
  bool weak = true;
  for (const ShapeDtype& input : inputs) {
    if (input.dtype() != inputs[0].dtype()) {
      invalid_argument(
          fmt::format("operands must have one dtype; got {}. Convert them with "
                      "convert_element_type, or use the functions of farcall.numpy, which "
                      "promote",
                      types_to_string(inputs)));
    }
    weak = weak && input.weak_type();
  }
  return {inputs[0].dtype(), shape, weak};
}

}  // namespace farcall
