#include "ops/indexing/dimension_numbers.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/indexing/indexing.h"
#include "ops/internal/type_rules.h"

namespace farcall::indexing {
namespace {

void check_distinct(std::vector<int64_t> dims, size_t rank, std::string_view what) {
  const std::string text = shape_to_string(dims);
  std::ranges::sort(dims);
  const bool lies_inside =
      dims.empty() || (dims.front() >= 0 && dims.back() < static_cast<int64_t>(rank));
  if (!lies_inside || std::ranges::adjacent_find(dims) != dims.end()) {
    invalid_argument(fmt::format("{} {} must be distinct and lie in [0, {})", what, text, rank));
  }
}

void check_disjoint(std::span<const int64_t> dims, std::span<const int64_t> others,
                    std::string_view what, std::string_view other) {
  for (const int64_t dim : dims) {
    if (std::ranges::find(others, dim) != others.end()) {
      invalid_argument(fmt::format("dimension {} is in {} and in {}", dim, what, other));
    }
  }
}

}  // namespace

void check_dimension_numbers(const GatherDimensionNumbers& n, ShapeDtype operand,
                             ShapeDtype indices, size_t window_rank, const Names& names) {
  constexpr std::string_view kBatching = "operand_batching_dims";
  check_index_operand(indices, "indices");
  if (indices.rank() == 0)
    invalid_argument("indices need a last dimension, which holds each start");
  check_axes(n.offset_dims, window_rank, names.window_dims);
  check_axes(n.collapsed_slice_dims, operand.rank(), names.collapsed_dims);
  check_axes(n.operand_batching_dims, operand.rank(), kBatching);
  check_distinct(n.start_index_map, operand.rank(), names.index_map);
  check_distinct(n.start_indices_batching_dims, indices.rank() - 1, names.indices_batching_dims);
  check_disjoint(n.collapsed_slice_dims, n.operand_batching_dims, names.collapsed_dims, kBatching);
  check_disjoint(n.start_index_map, n.operand_batching_dims, names.index_map, kBatching);
  const auto components = static_cast<size_t>(indices.shape().back());
  if (n.start_index_map.size() != components) {
    invalid_argument(
        fmt::format("{} {} must have an entry for each of the {} components of an index",
                    names.index_map, shape_to_string(n.start_index_map), components));
  }
  if (n.operand_batching_dims.size() != n.start_indices_batching_dims.size()) {
    invalid_argument(fmt::format("{} {} and {} {} must be of one length", kBatching,
                                 shape_to_string(n.operand_batching_dims),
                                 names.indices_batching_dims,
                                 shape_to_string(n.start_indices_batching_dims)));
  }
  for (size_t i = 0; i < n.operand_batching_dims.size(); ++i) {
    const int64_t a = n.operand_batching_dims[i], b = n.start_indices_batching_dims[i];
    if (operand.shape()[a] != indices.shape()[b]) {
      invalid_argument(fmt::format("batching dimension {} of {} and {} of {} differ in size", a,
                                   operand.to_string(), b, indices.to_string()));
    }
  }
  const size_t kept =
      operand.rank() - n.collapsed_slice_dims.size() - n.operand_batching_dims.size();
  if (n.offset_dims.size() != kept) {
    invalid_argument(fmt::format("{} {} must name the {} dimensions that windows of {} keep",
                                 names.window_dims, shape_to_string(n.offset_dims), kept,
                                 operand.to_string()));
  }
}

std::vector<int64_t> kept_dims(const GatherDimensionNumbers& numbers, size_t operand_rank) {
  std::vector<int64_t> left_out = numbers.collapsed_slice_dims;
  left_out.insert(left_out.end(), numbers.operand_batching_dims.begin(),
                  numbers.operand_batching_dims.end());
  return dims_except(operand_rank, left_out);
}

Shape shape_of_windows(const GatherDimensionNumbers& numbers, ShapeDtype indices,
                       std::span<const int64_t> window_sizes) {
  Shape shape(indices.rank() - 1 + numbers.offset_dims.size());
  size_t next_window = 0, next_index = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    shape[i] = contains(numbers.offset_dims, i) ? window_sizes[next_window++]
                                                : indices.shape()[next_index++];
  }
  return shape;
}

GatherDimensionNumbers with_new_dimension(const GatherDimensionNumbers& numbers,
                                          NewDimension where) {
  const bool in_operand = where != NewDimension::kInIndices;
  const bool in_indices = where != NewDimension::kInOperand;
  const bool in_both = in_operand && in_indices;
  const auto of_operand = [&](const std::vector<int64_t>& dims) {
    return in_operand ? shifted(dims) : dims;
  };
  return {.offset_dims = shifted(numbers.offset_dims, !in_indices),
          .collapsed_slice_dims = of_operand(numbers.collapsed_slice_dims),
          .start_index_map = of_operand(numbers.start_index_map),
          .operand_batching_dims = in_operand ? shifted(numbers.operand_batching_dims, in_both)
                                              : numbers.operand_batching_dims,
          .start_indices_batching_dims = in_indices
                                             ? shifted(numbers.start_indices_batching_dims, in_both)
                                             : numbers.start_indices_batching_dims};
}

}  // namespace farcall::indexing
