// Parameters of primitives that read and write parts of arrays at computed positions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/params.h>

namespace farcall {

// ---- dynamic_slice ----

// dynamic_slice: the slice of this shape at the start indices, which are scalar operands of one
// integer dtype. Starts are clamped so that the slice is inside the array. dynamic_update_slice,
// which replaces such a slice by its second operand, has no parameters.
struct DynamicSliceParams {
  Shape slice_sizes;
  static constexpr auto fields() {
    return std::tuple(field("slice_sizes", &DynamicSliceParams::slice_sizes));
  }
};

// ---- pad ----

// The numbers of elements to insert before, after and between the elements of one dimension.
// Negative `low` and `high` remove elements.
struct PaddingDimension {
  int64_t low = 0, high = 0, interior = 0;
  friend bool operator==(const PaddingDimension&, const PaddingDimension&) = default;
};
using PaddingConfig = std::vector<PaddingDimension>;
FARCALL_API Value to_value(const PaddingDimension& v);
FARCALL_API void from_value(const Value& value, PaddingDimension& out);
FARCALL_API size_t hash_of(const PaddingDimension& v);

// pad: the first operand, with copies of the second one (a scalar) around and between its elements.
struct PadParams {
  PaddingConfig padding_config;
  static constexpr auto fields() {
    return std::tuple(field("padding_config", &PadParams::padding_config));
  }
};

// ---- gather and scatter ----

// What to do with a window that is not completely inside the operand.
enum class GatherScatterMode : uint8_t {
  kClip,             // move it inside
  kFillOrDrop,       // gather returns the fill value, scatter drops it
  kPromiseInBounds,  // must not happen: gather may move it, scatter may drop it
};
FARCALL_API std::string_view mode_name(GatherScatterMode mode);  // "clip"
// Parses "clip", "fill", "drop", "fill_or_drop" or "promise_in_bounds". Raises INVALID_ARGUMENT for
// other names.
FARCALL_API GatherScatterMode parse_mode(std::string_view name);
FARCALL_API Value to_value(GatherScatterMode v);
FARCALL_API void from_value(const Value& value, GatherScatterMode& out);
inline size_t hash_of(GatherScatterMode v) { return static_cast<size_t>(v); }

// The positions of windows in the operand. The last dimension of the indices holds the components
// of a window's start; component i belongs to the operand dimension start_index_map[i]. The other
// dimensions of the indices enumerate the windows.
struct GatherDimensionNumbers {
  std::vector<int64_t> offset_dims;           // dimensions of the result that come from the window
  std::vector<int64_t> collapsed_slice_dims;  // of the operand: of size 1 in a window, dropped
  std::vector<int64_t> start_index_map;
  // Batch dimensions of the operand, and the corresponding ones of the indices.
  std::vector<int64_t> operand_batching_dims;
  std::vector<int64_t> start_indices_batching_dims;
  friend bool operator==(const GatherDimensionNumbers&, const GatherDimensionNumbers&) = default;
};

// gather: the operands are an array and integer indices. The result contains the window at each
// index.
struct GatherParams : GatherDimensionNumbers {
  Shape slice_sizes;  // the window's size in every dimension of the operand
  // As the text of an element. Default: NaN, the lowest signed integer, the highest unsigned
  // integer, or True.
  std::optional<std::string> fill_value;
  GatherScatterMode mode = GatherScatterMode::kFillOrDrop;
  bool unique_indices = false;      // no two windows overlap
  bool indices_are_sorted = false;  // in lexicographic order
  static constexpr auto fields() {
    using P = GatherParams;
    return std::tuple(field("offset_dims", &P::offset_dims),
                      field("collapsed_slice_dims", &P::collapsed_slice_dims),
                      field("start_index_map", &P::start_index_map),
                      field("operand_batching_dims", &P::operand_batching_dims),
                      field("start_indices_batching_dims", &P::start_indices_batching_dims),
                      field("slice_sizes", &P::slice_sizes), field("fill_value", &P::fill_value),
                      field("mode", &P::mode), field("unique_indices", &P::unique_indices),
                      field("indices_are_sorted", &P::indices_are_sorted));
  }
};

// The same for scatter, where the updates contain the windows.
struct ScatterDimensionNumbers {
  std::vector<int64_t> update_window_dims;    // dimensions of the updates that come from the window
  std::vector<int64_t> inserted_window_dims;  // of the operand: of size 1 in a window, dropped
  std::vector<int64_t> scatter_dims_to_operand_dims;
  std::vector<int64_t> operand_batching_dims;
  std::vector<int64_t> scatter_indices_batching_dims;
  friend bool operator==(const ScatterDimensionNumbers&, const ScatterDimensionNumbers&) = default;
};

// Scatter's dimension numbers as those of the gather that reads the same windows, and the reverse.
inline GatherDimensionNumbers as_gather(const ScatterDimensionNumbers& n) {
  return {n.update_window_dims, n.inserted_window_dims, n.scatter_dims_to_operand_dims,
          n.operand_batching_dims, n.scatter_indices_batching_dims};
}
inline ScatterDimensionNumbers as_scatter(const GatherDimensionNumbers& n) {
  return {n.offset_dims, n.collapsed_slice_dims, n.start_index_map, n.operand_batching_dims,
          n.start_indices_batching_dims};
}

// scatter, scatter_add, scatter_mul, scatter_min, scatter_max: the operands are an array, integer
// indices and updates. The result is the array with each window of the updates written to, or
// combined with, its place, in row-major order of the indices.
struct ScatterParams : ScatterDimensionNumbers {
  bool indices_are_sorted = false;
  bool unique_indices = false;
  GatherScatterMode mode = GatherScatterMode::kFillOrDrop;
  static constexpr auto fields() {
    using P = ScatterParams;
    return std::tuple(field("update_window_dims", &P::update_window_dims),
                      field("inserted_window_dims", &P::inserted_window_dims),
                      field("scatter_dims_to_operand_dims", &P::scatter_dims_to_operand_dims),
                      field("operand_batching_dims", &P::operand_batching_dims),
                      field("scatter_indices_batching_dims", &P::scatter_indices_batching_dims),
                      field("indices_are_sorted", &P::indices_are_sorted),
                      field("unique_indices", &P::unique_indices), field("mode", &P::mode));
  }
};

// The size of scatter's window in each dimension of the operand.
FARCALL_API Shape window_sizes(const ScatterParams& params, const ShapeDtype& operand,
                               const ShapeDtype& updates);

}  // namespace farcall
