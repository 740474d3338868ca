// x[indices], and updates of x[indices].
#include <farcall/ops/numpy_indexing.h>

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <farcall/ops/indexing.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/promotion.h>

#include "ops/indexing/dimension_numbers.h"
#include "ops/indexing/indexer.h"
#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

int64_t count_of(std::span<const int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

bool has_arrays(std::span<const IndexItem> items) {
  return std::ranges::any_of(
      items, [](const IndexItem& item) { return std::holds_alternative<Array>(item.index); });
}

// Raises for integers that are out of range.
void check_integers(const Array& x, std::span<const IndexItem> items) {
  for (const auto& [index, dim] : items) {
    const auto* integer = std::get_if<int64_t>(&index);
    if (!integer) continue;
    const int64_t size = x.shape()[*dim];
    if (*integer < -size || *integer >= size) {
      index_error(ErrorCode::kOutOfRange, x,
                  fmt::format("index {} is out of range for dimension {} of size {}", *integer,
                              *dim, size));
    }
  }
}

// Integers (in range) and slices: one slice of the array, reversed along dimensions with negative
// steps.
Array take_slices(const Array& x, std::span<const IndexItem> items) {
  std::vector<int64_t> starts, limits, strides, reversed;
  Shape shape;
  for (const auto& [index, dim] : items) {
    if (!dim) {
      shape.push_back(1);
      continue;
    }
    const int64_t size = x.shape()[*dim];
    SliceRange range{0, 1, 1};
    if (const auto* integer = std::get_if<int64_t>(&index)) {
      range.start = *integer < 0 ? *integer + size : *integer;
    } else {
      range = resolve_slice(std::get<Slice>(index), size);
      shape.push_back(range.count);
    }
    const int64_t step = std::abs(range.step);
    const int64_t last = range.start + (range.count - 1) * range.step;
    const int64_t first = range.count == 0 ? 0 : std::min(range.start, last);
    starts.push_back(first);
    limits.push_back(range.count == 0 ? 0 : std::max(range.start, last) + 1);
    strides.push_back(step);
    if (range.step < 0) reversed.push_back(static_cast<int64_t>(*dim));
  }
  Array result = x;
  const bool is_whole = std::ranges::all_of(starts, [](int64_t s) { return s == 0; }) &&
                        std::ranges::all_of(strides, [](int64_t s) { return s == 1; }) &&
                        std::ranges::equal(limits, x.shape());
  if (!is_whole) result = lax::slice(result, starts, limits, strides);
  if (!reversed.empty()) result = lax::rev(result, reversed);
  return reshape(result, shape);
}

Array gather_items(const Array& x, std::span<const IndexItem> items, const IndexOptions& options) {
  const Indexer indexer = make_indexer(x, items, options.wrap_negative_indices);
  if (count_of(indexer.shape) == 0) return zeros(indexer.shape, x.dtype());
  const auto mode = options.mode.value_or(GatherScatterMode::kPromiseInBounds);
  if (x.size() == 0 && mode != GatherScatterMode::kFillOrDrop) {
    index_error(ErrorCode::kOutOfRange, x, "an array without elements has none to take");
  }
  lax::GatherOptions gather = {
      .mode = mode,
      .unique_indices = options.unique_indices || indexer.is_single,
      .indices_are_sorted = options.indices_are_sorted || indexer.is_single};
  if (options.fill_value) gather.fill_value = lax::fill_text(*options.fill_value, x.dtype());
  return reshape(lax::gather(x, indexer.indices, indexer.numbers, indexer.slice_sizes, gather),
                 indexer.shape);
}

// Broadcasts the values to this shape; superfluous leading dimensions of size 1 are dropped.
Array broadcast_values(const Array& values, std::span<const int64_t> shape) {
  Shape sizes(values.shape().begin(), values.shape().end());
  while (sizes.size() > shape.size() && sizes.front() == 1) sizes.erase(sizes.begin());
  return broadcast_to(reshape(values, sizes), shape);
}

lax::ScatterFunction* function_of(Update how) {
  switch (how) {
    case Update::kAdd:
    case Update::kSubtract:
      return lax::scatter_add;
    case Update::kMultiply:
      return lax::scatter_mul;
    case Update::kMin:
      return lax::scatter_min;
    case Update::kMax:
      return lax::scatter_max;
    default:
      return lax::scatter;
  }
}

// The dtype in which x and the values are combined. New values are converted to the dtype of x.
DType dtype_of_update(const Array& x, const Array& values, Update how) {
  if (how == Update::kSet) return x.dtype();
  const ShapeDtype types[] = {x.type(), values.type()};
  return with_error_prefix("update", [&] { return promote_types(types).dtype; });
}

}  // namespace

Array take(const Array& x, ListOf<Index> indices) {
  const std::vector<IndexItem> items = expand_indices(x, indices);
  check_integers(x, items);
  return has_arrays(items) ? gather_items(x, items, {}) : take_slices(x, items);
}

Array get(const Array& x, ListOf<Index> indices, const IndexOptions& options) {
  return gather_items(x, expand_indices(x, indices), options);
}

Array update(const Array& x, ListOf<Index> indices, const Array& values, Update how,
             const IndexOptions& options) {
  const std::vector<IndexItem> items = expand_indices(x, indices);
  const Indexer indexer = make_indexer(x, items, options.wrap_negative_indices);
  const DType dtype = dtype_of_update(x, values, how);
  Array updates = with_error_prefix("update", [&] {
    return reshape(broadcast_values(convert(values, {dtype, false}), indexer.shape),
                   indexer.windows_shape);
  });
  if (updates.size() == 0 || x.size() == 0) return x;
  if (how == Update::kSubtract) updates = lax::neg(updates);
  const Array operand = x.dtype() == dtype ? x : lax::convert_element_type(x, dtype);
  const Array result =
      function_of(how)(operand, indexer.indices, updates, as_scatter(indexer.numbers),
                       {.mode = options.mode.value_or(GatherScatterMode::kFillOrDrop),
                        .unique_indices = options.unique_indices || indexer.is_single,
                        .indices_are_sorted = options.indices_are_sorted || indexer.is_single});
  return x.dtype() == dtype ? result : lax::convert_element_type(result, x.dtype());
}

}  // namespace farcall::numpy
