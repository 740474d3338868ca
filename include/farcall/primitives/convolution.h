// Parameters of conv_general_dilated.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include <farcall/core/sizes.h>
#include <farcall/program/params.h>

namespace farcall {

using Padding = std::vector<std::pair<int64_t, int64_t>>;  // before and behind each dimension

// The left operand, dilated (gaps of zeros between its elements) and padded (with zeros; a negative
// padding cuts off), and the right one, dilated, moving along it in steps of window_strides.
//
// A spec names dimensions: of the left operand and the result batch, features, then the spatial
// ones; of the right operand features of the result, features of the left operand, then the spatial
// ones. With feature groups, a part of the result's features sees only its part of the left
// operand's; with batch groups, only its part of the batch.
struct ConvParams {
  int64_t batch_group_count = 1;
  int64_t feature_group_count = 1;
  std::vector<int64_t> lhs_dilation;
  std::vector<int64_t> lhs_spec;
  std::vector<int64_t> out_spec;
  Padding padding;
  std::vector<int64_t> rhs_dilation;
  std::vector<int64_t> rhs_spec;
  std::vector<int64_t> window_strides;
  static constexpr auto fields() {
    using P = ConvParams;
    return std::tuple(field("batch_group_count", &P::batch_group_count),
                      field("feature_group_count", &P::feature_group_count),
                      field("lhs_dilation", &P::lhs_dilation), field("lhs_spec", &P::lhs_spec),
                      field("out_spec", &P::out_spec), field("padding", &P::padding),
                      field("rhs_dilation", &P::rhs_dilation), field("rhs_spec", &P::rhs_spec),
                      field("window_strides", &P::window_strides));
  }
};

// The size of a dimension with gaps between its elements.
constexpr int64_t dilated(int64_t size, int64_t dilation) {
  return size == 0 ? 0 : checked_sum(checked_product(size - 1, dilation), 1);
}
// With padding before and behind. Raises as well where an element is further from the first place
// than 64 bits say.
constexpr int64_t padded(int64_t size, std::pair<int64_t, int64_t> padding) {
  checked_difference(size, padding.first);
  checked_sum(size, padding.second);
  return checked_sum(checked_sum(size, padding.first), padding.second);
}
// How many windows of `window` elements, `stride` apart, lie in `size`.
constexpr int64_t num_windows(int64_t size, int64_t window, int64_t stride) {
  return size < window ? 0 : (size - window) / stride + 1;
}

}  // namespace farcall
