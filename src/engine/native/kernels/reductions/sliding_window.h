// Offsets of the elements of windows, computed once for each dimension.
#pragma once

#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/sizes.h>

namespace farcall::native {

// The offset of padding, or of a gap between elements.
inline constexpr int64_t kNothing = -1;

struct WindowDimension {
  int64_t num_positions = 0, window = 0;
  std::vector<int64_t> offsets;  // num_positions times window; in elements, or kNothing

  const int64_t* at(int64_t position) const { return offsets.data() + position * window; }
};

struct WindowSteps {
  int64_t stride = 1, window_dilation = 1, base_dilation = 1, padding_before = 0;
};

// `size` is the number of elements along the dimension, which are `element_stride` apart.
inline WindowDimension make_window_dimension(const WindowSteps& steps, int64_t size, int64_t window,
                                             int64_t num_positions, int64_t element_stride) {
  WindowDimension dimension{num_positions, window, {}};
  constexpr int64_t kMaxOffsets = int64_t{1} << 28;
  if (const int64_t count = saturated_product(num_positions, window); count > kMaxOffsets) {
    throw Error(
        ErrorCode::kResourceExhausted,
        fmt::format("{} windows of {} elements are too many: at most {} elements in all are "
                    "supported in one dimension",
                    num_positions, window, kMaxOffsets));
  }
  for (int64_t position = 0; position < num_positions; ++position) {
    for (int64_t i = 0; i < window; ++i) {
      const int64_t at = position * steps.stride + i * steps.window_dilation - steps.padding_before;
      const bool is_element =
          at >= 0 && at % steps.base_dilation == 0 && at / steps.base_dilation < size;
      dimension.offsets.push_back(is_element ? at / steps.base_dilation * element_stride
                                             : kNothing);
    }
  }
  return dimension;
}

}  // namespace farcall::native
