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
// result is the reduction of one window of the operand. The operand is dilated by base_dilation and
// padded; the elements of a window are window_dilation apart. Gaps and padding are ignored.
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

// select_and_gather_add: for each window, the element of the first operand at the position where
// the second operand is greatest (select_prim "ge") or least ("le"); the first such position. Zero
// if the window covers no element.
// select_and_scatter_add: the transpose. Adds each element of the first operand to the selected
// position of its window. Windows are those of the second operand; the result has its shape.
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
