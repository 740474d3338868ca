// take, take_along_axis, put_along_axis and nonzero.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/ops/cumulative.h>
#include <farcall/ops/indexing.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/trace/origin.h>
#include <farcall/trace/placement.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

// Prepares indices for the mode "fill", "wrap" or "clip", and selects the mode of the gather.
struct Prepared {
  Array indices;
  GatherScatterMode mode;
};
Prepared prepare(const Array& indices, int64_t size, const TakeOptions& options,
                 std::string_view function) {
  if (!is_integer(indices.dtype())) {
    throw TypeError(
        fmt::format("{}: indices must be integers, got {}", function, indices.type().to_string()));
  }
  if (options.mode == "wrap") {
    const Array length = convert(Array(size), {DType::kInt64, false});
    const Array wrapped =
        remainder(lax::convert_element_type(indices, DType::kInt64), maximum(length, 1));
    return {wrapped, GatherScatterMode::kPromiseInBounds};
  }
  if (options.mode == "clip") return {indices, GatherScatterMode::kClip};
  const GatherScatterMode mode =
      with_error_prefix(function, [&] { return parse_mode(options.mode); });
  return {options.wrap_negative_indices ? lax::wrap_negative(indices, size) : indices, mode};
}

lax::GatherOptions gather_options(const Array& x, const TakeOptions& options,
                                  GatherScatterMode mode) {
  lax::GatherOptions result = {.mode = mode,
                               .unique_indices = options.unique_indices,
                               .indices_are_sorted = options.indices_are_sorted};
  if (options.fill_value) result.fill_value = lax::fill_text(*options.fill_value, x.dtype());
  return result;
}

Array with_last_dimension(const Array& x) {
  const int64_t last = static_cast<int64_t>(x.rank());
  return expand_dims(x, {&last, 1});
}

[[noreturn]] void nothing_to_take(const Array& x, int64_t axis, std::string_view function) {
  throw Error(ErrorCode::kOutOfRange, fmt::format("{}: dimension {} of {} has no elements to take",
                                                  function, axis, x.type().to_string()));
}

std::vector<int64_t> all_but(size_t rank, int64_t axis) {
  std::vector<int64_t> dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  dims.erase(dims.begin() + axis);
  return dims;
}

// Operand and indices, broadcast to one shape except along the axis. In the dimension numbers the
// other dimensions are batching dimensions.
struct AlongAxis {
  Array x, indices;
  int64_t axis;
  GatherDimensionNumbers numbers;
  GatherScatterMode mode;
};
AlongAxis along_axis(const Array& x, const Array& indices, std::optional<int64_t> axis,
                     const TakeOptions& options, std::string_view function) {
  if (!axis) return along_axis(ravel(x), ravel(indices), 0, options, function);
  if (x.rank() != indices.rank()) {
    invalid_argument(fmt::format("{}: indices and the array must have one rank; got {} and {}",
                                 function, indices.type().to_string(), x.type().to_string()));
  }
  const int64_t along = normalize_axis(*axis, x.rank(), function);
  Shape x_rest(x.shape().begin(), x.shape().end());
  Shape indices_rest(indices.shape().begin(), indices.shape().end());
  x_rest[along] = indices_rest[along] = 1;
  const std::span<const int64_t> rests[] = {x_rest, indices_rest};
  Shape shape = with_error_prefix(function, [&] { return broadcast_shapes(rests); });
  // Unlike in take(), negative indices count from the end in every mode.
  const Array wrapped = options.wrap_negative_indices && is_integer(indices.dtype())
                            ? lax::wrap_negative(indices, x.shape()[along])
                            : indices;
  const auto [prepared, mode] = prepare(
      wrapped, x.shape()[along], {.mode = options.mode, .wrap_negative_indices = false}, function);
  const auto broadcast_rest = [&](const Array& array) {
    shape[along] = array.shape()[along];
    return broadcast_to(array, shape);
  };
  const std::vector<int64_t> others = all_but(x.rank(), along);
  return {broadcast_rest(x),
          with_last_dimension(broadcast_rest(prepared)),
          along,
          {.collapsed_slice_dims = {along},
           .start_index_map = {along},
           .operand_batching_dims = others,
           .start_indices_batching_dims = others},
          mode};
}

// ---- nonzero ----

template <class Index>
std::vector<Array> unravelled(std::span<const int64_t> flat, std::span<const int64_t> shape) {
  std::vector<std::vector<Index>> places(shape.size(), std::vector<Index>(flat.size()));
  for (size_t i = 0; i < flat.size(); ++i) {
    int64_t rest = flat[i];
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      places[d][i] = static_cast<Index>(rest % shape[d]);
    }
  }
  std::vector<Array> result;
  const auto count = static_cast<int64_t>(flat.size());
  for (const auto& each : places) {
    result.push_back(Array::of(std::span<const Index>(each), {&count, 1}));
  }
  return result;
}

}  // namespace

Array take(const Array& x, const Array& indices, std::optional<int64_t> axis,
           const TakeOptions& options) {
  if (!axis) return take(ravel(x), indices, 0, options);
  const int64_t along = normalize_axis(*axis, x.rank(), "take");
  const bool is_bool = indices.dtype() == DType::kBool;
  const auto [prepared, mode] = prepare(is_bool ? astype(indices, DType::kInt32) : indices,
                                        x.shape()[along], options, "take");
  Shape shape(x.shape().begin(), x.shape().begin() + along);
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), x.shape().begin() + along + 1, x.shape().end());
  if (std::ranges::find(shape, 0) != shape.end()) return zeros(shape, x.dtype());
  if (x.size() == 0) nothing_to_take(x, along, "take");
  GatherDimensionNumbers numbers = {.collapsed_slice_dims = {along}, .start_index_map = {along}};
  for (size_t i = 0; i < x.rank(); ++i) {
    const auto dim = static_cast<int64_t>(i);
    if (dim == along) continue;
    const auto moved = dim < along ? 0 : static_cast<int64_t>(indices.rank()) - 1;
    numbers.offset_dims.push_back(dim + moved);
  }
  Shape window(x.shape().begin(), x.shape().end());
  window[along] = 1;
  return lax::gather(x, with_last_dimension(prepared), numbers, window,
                     gather_options(x, options, mode));
}

Array take_along_axis(const Array& x, const Array& indices, std::optional<int64_t> axis,
                      const TakeOptions& options) {
  const AlongAxis a = along_axis(x, indices, axis, options, "take_along_axis");
  if (a.indices.size() == 0) {
    return zeros(a.indices.shape().first(a.indices.rank() - 1), x.dtype());
  }
  if (a.x.size() == 0) nothing_to_take(x, a.axis, "take_along_axis");
  return lax::gather(a.x, a.indices, a.numbers, Shape(a.x.rank(), 1),
                     gather_options(x, options, a.mode));
}

Array put_along_axis(const Array& x, const Array& indices, const Array& values,
                     std::optional<int64_t> axis, std::optional<GatherScatterMode> mode) {
  const AlongAxis a = along_axis(x, indices, axis, {}, "put_along_axis");
  const auto shape = a.indices.shape().first(a.indices.rank() - 1);
  const Array updates = broadcast_to(convert(values, {x.dtype(), false}), shape);
  if (updates.size() == 0) return x;
  const ScatterDimensionNumbers numbers = {
      .inserted_window_dims = a.numbers.collapsed_slice_dims,
      .scatter_dims_to_operand_dims = a.numbers.start_index_map,
      .operand_batching_dims = a.numbers.operand_batching_dims,
      .scatter_indices_batching_dims = a.numbers.start_indices_batching_dims};
  const Array result = lax::scatter(a.x, a.indices, updates, numbers,
                                    {.mode = mode.value_or(GatherScatterMode::kFillOrDrop)});
  return reshape(result, x.shape());
}

std::vector<Array> nonzero(const Array& x) {
  if (!x.has_known_values()) {
    throw ConcretizationError(
        fmt::format("nonzero: the number of nonzero elements depends on the values of a traced {}: "
                    "{}. Pass size=, or {}",
                    x.type().to_string(), why_unknown(x), how_to_know(x)));
  }
  const Array mask = as_bool(x);
  const auto values =
      std::span(static_cast<const bool*>(mask.data()), static_cast<size_t>(mask.size()));
  std::vector<int64_t> flat;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i]) flat.push_back(static_cast<int64_t>(i));
  }
  std::vector<Array> places =
      is_x64() ? unravelled<int64_t>(flat, x.shape()) : unravelled<int32_t>(flat, x.shape());
  for (Array& each : places) each = committed_like(each, x);
  return places;
}

std::vector<Array> nonzero(const Array& x, int64_t size, ListOf<Array> fill_values) {
  if (size < 0) {
    invalid_argument(fmt::format("nonzero: size must not be negative, got {}", size));
  }
  if (!fill_values.empty() && fill_values.size() != x.rank()) {
    invalid_argument(
        fmt::format("nonzero: got {} fill values for {} dimensions", fill_values.size(), x.rank()));
  }
  const PromotedDType as_index = {default_int(), false};
  const Array mask = ravel(as_bool(x));
  const Array count = lax::cumsum(lax::convert_element_type(mask, as_index.dtype), 0);
  // Each true element writes its index at its rank among the true elements; the others write out of
  // bounds.
  const Array turn =
      where(mask, lax::sub(count, convert(1, as_index)), convert(Array(size), as_index));
  const int64_t total = mask.size();
  const Array flat =
      total == 0 ? zeros({&size, 1}, as_index.dtype)
                 : lax::scatter(zeros({&size, 1}, as_index.dtype), with_last_dimension(turn),
                                lax::iota(as_index.dtype, {&total, 1}, 0),
                                {.inserted_window_dims = {0}, .scatter_dims_to_operand_dims = {0}});
  const Array is_found = lax::lt(lax::iota(as_index.dtype, {&size, 1}, 0),
                                 sum(lax::convert_element_type(mask, as_index.dtype)));
  std::vector<Array> result(x.rank());
  int64_t inner = 1;
  for (size_t d = x.rank(); d-- > 0;) {
    const int64_t extent = std::max<int64_t>(x.shape()[d], 1);
    const Array place = remainder(floor_divide(flat, inner), extent);
    const Array fill = fill_values.empty() ? Array(0) : fill_values[d];
    result[d] = where(is_found, place, convert(fill, as_index));
    inner *= extent;
  }
  return result;
}

}  // namespace farcall::numpy
