// Dimension numbers of gather and scatter: checks and derived shapes.
#pragma once

#include <farcall/core/shape_dtype.h>
#include <farcall/primitives/indexing.h>

namespace farcall::indexing {

// The names of the parts in messages.
struct Names {
  std::string_view window_dims, collapsed_dims, index_map, indices_batching_dims;
};
inline constexpr Names kGatherNames = {"offset_dims", "collapsed_slice_dims", "start_index_map",
                                       "start_indices_batching_dims"};
inline constexpr Names kScatterNames = {"update_window_dims", "inserted_window_dims",
                                        "scatter_dims_to_operand_dims",
                                        "scatter_indices_batching_dims"};

// Raises unless the numbers fit an operand and indices of these types. `window_rank`: the rank of
// the array that holds the windows.
void check_dimension_numbers(const GatherDimensionNumbers& numbers, ShapeDtype operand,
                             ShapeDtype indices, size_t window_rank, const Names& names);

// The operand's dimensions that are kept in windows.
std::vector<int64_t> kept_dims(const GatherDimensionNumbers& numbers, size_t operand_rank);

// The shape of an array that holds a window for each index: window sizes at `offset_dims`, sizes of
// the indices elsewhere.
Shape shape_of_windows(const GatherDimensionNumbers& numbers, ShapeDtype indices,
                       std::span<const int64_t> window_sizes);

// The numbers after a new leading dimension is added to the windows and to the operand, the
// indices, or both. In the operand alone it is a window dimension, in the indices alone it
// enumerates windows, in both it is a batching dimension.
enum class NewDimension { kInOperand, kInIndices, kInBoth };
GatherDimensionNumbers with_new_dimension(const GatherDimensionNumbers& numbers,
                                          NewDimension where);

}  // namespace farcall::indexing
