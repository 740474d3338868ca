// Parameters of conv_general_dilated.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <farcall/core/precision.h>
#include <farcall/core/sizes.h>
#include <farcall/program/params.h>

namespace farcall {

using Padding = std::vector<std::pair<int64_t, int64_t>>;  // before and after each dimension

// The left operand is dilated (zeros between its elements) and padded (with zeros; negative padding
// crops). The right operand is dilated and moves along it in steps of window_strides.
//
// A spec lists dimensions. For the left operand and the result: batch, features, spatial
// dimensions. For the right operand: output features, input features, spatial dimensions. With
// feature groups, each group of output features depends only on its group of input features; with
// batch groups, only on its part of the batch.
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
  std::optional<OperandPrecisions> precision = {};  // as for dot_general
  static constexpr auto fields() {
    using P = ConvParams;
    return std::tuple(field("batch_group_count", &P::batch_group_count),
                      field("feature_group_count", &P::feature_group_count),
                      field("lhs_dilation", &P::lhs_dilation), field("lhs_spec", &P::lhs_spec),
                      field("out_spec", &P::out_spec), field("padding", &P::padding),
                      field("rhs_dilation", &P::rhs_dilation), field("rhs_spec", &P::rhs_spec),
                      field("window_strides", &P::window_strides),
                      optional_field("precision", &P::precision));
  }
};

// The number of spatial dimensions of an operand of this rank.
constexpr size_t num_spatial(size_t rank) { return rank < 2 ? 0 : rank - 2; }
// The size of a dilated dimension.
constexpr int64_t dilated(int64_t size, int64_t dilation) {
  return size == 0 ? 0 : checked_sum(checked_product(size - 1, dilation), 1);
}
// The sizes of dilated dimensions. Omitted dilations are 1.
inline std::vector<int64_t> dilated_sizes(std::span<const int64_t> sizes,
                                          std::span<const int64_t> dilation) {
  std::vector<int64_t> result(sizes.begin(), sizes.end());
  for (size_t i = 0; i < std::min(sizes.size(), dilation.size()); ++i) {
    result[i] = dilated(sizes[i], dilation[i]);
  }
  return result;
}
// The size of a padded dimension. Raises if the size, or the offset of an element, exceeds 64 bits.
constexpr int64_t padded(int64_t size, std::pair<int64_t, int64_t> padding) {
  checked_difference(size, padding.first);
  checked_sum(size, padding.second);
  return checked_sum(checked_sum(size, padding.first), padding.second);
}
// The number of windows of `window` elements, `stride` apart, that fit into `size` elements.
constexpr int64_t num_windows(int64_t size, int64_t window, int64_t stride) {
  return size < window ? 0 : (size - window) / stride + 1;
}

}  // namespace farcall
