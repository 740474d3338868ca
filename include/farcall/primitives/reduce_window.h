// Parameters of reductions over windows.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <farcall/primitives/convolution.h>
#include <farcall/program/params.h>

namespace farcall {

// reduce_window_sum, reduce_window_prod, reduce_window_max, reduce_window_min: each element of the
// result reduces those that a window, its own elements window_dilation apart, covers of the
// operand, dilated by base_dilation and padded. Gaps and padding count as nothing.
struct ReduceWindowParams {
  std::vector<int64_t> base_dilation;
  Padding padding;
  std::vector<int64_t> window_dilation;
  std::vector<int64_t> window_dimensions;
  std::vector<int64_t> window_strides;
  static constexpr auto fields() {
    using P = ReduceWindowParams;
    return std::tuple(field("base_dilation", &P::base_dilation), field("padding", &P::padding),
                      field("window_dilation", &P::window_dilation),
                      field("window_dimensions", &P::window_dimensions),
                      field("window_strides", &P::window_strides));
  }
};

// select_and_gather_add: of the first operand the element at which, in each window, the second
// operand is greatest (select_prim "ge") or least ("le"); the first such one. Zero where the window
// covers nothing.
// select_and_scatter_add: its transpose: adds each element of the first operand to the place that
// is selected in its window of the second operand, whose shape the result has.
struct SelectWindowParams {
  std::vector<int64_t> base_dilation;
  Padding padding;
  std::string select_prim;
  std::vector<int64_t> window_dilation;
  std::vector<int64_t> window_dimensions;
  std::vector<int64_t> window_strides;
  static constexpr auto fields() {
    using P = SelectWindowParams;
    return std::tuple(field("base_dilation", &P::base_dilation), field("padding", &P::padding),
                      field("select_prim", &P::select_prim),
                      field("window_dilation", &P::window_dilation),
                      field("window_dimensions", &P::window_dimensions),
                      field("window_strides", &P::window_strides));
  }
};

}  // namespace farcall
