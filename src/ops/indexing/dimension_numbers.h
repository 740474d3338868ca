// What the dimension numbers of gather and scatter say together, and whether they fit.
#pragma once

#include <farcall/core/shape_dtype.h>
#include <farcall/primitives/indexing.h>

namespace farcall::indexing {

// gather's names for the dimension numbers of a scatter, and the other way round.
GatherDimensionNumbers as_gather(const ScatterDimensionNumbers& numbers);
ScatterDimensionNumbers as_scatter(const GatherDimensionNumbers& numbers);

// How messages call the parts.
struct Names {
  std::string_view window_dims, collapsed_dims, index_map, indices_batching_dims;
};
inline constexpr Names kGatherNames = {"offset_dims", "collapsed_slice_dims", "start_index_map",
                                       "start_indices_batching_dims"};
inline constexpr Names kScatterNames = {"update_window_dims", "inserted_window_dims",
                                        "scatter_dims_to_operand_dims",
                                        "scatter_indices_batching_dims"};

// Raises unless the numbers fit an operand and indices of these types, and windows that have their
// dimensions in an array of rank `window_rank`.
void check_dimension_numbers(const GatherDimensionNumbers& numbers, ShapeDtype operand,
                             ShapeDtype indices, size_t window_rank, const Names& names);

// The dimensions of the operand that windows keep.
std::vector<int64_t> kept_dims(const GatherDimensionNumbers& numbers, size_t operand_rank);

// The shape of an array that holds a window for each index: the sizes of the windows at
// `offset_dims`, those of the indices elsewhere.
Shape shape_of_windows(const GatherDimensionNumbers& numbers, ShapeDtype indices,
                       std::span<const int64_t> window_sizes);

// The numbers when all three arrays get a new dimension in front. Which of operand and indices have
// it decides whether it belongs to the windows or numbers them.
enum class NewDimension { kInOperand, kInIndices, kInBoth };
GatherDimensionNumbers with_new_dimension(const GatherDimensionNumbers& numbers,
                                          NewDimension where);

}  // namespace farcall::indexing
