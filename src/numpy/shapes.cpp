#include <farcall/numpy/shapes.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/numpy_arrays.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

// Normalized, distinct axes in the given order.
std::vector<int64_t> distinct_axes(ListOf<int64_t> axes, size_t rank, const char* function) {
  normalize_axes(std::vector<int64_t>(axes.begin(), axes.end()), rank, function);
  std::vector<int64_t> result;
  for (const int64_t axis : axes) result.push_back(normalize_axis(axis, rank, function));
  return result;
}

std::vector<Array> each(ListOf<Array> arrays, Array (*change)(const Array&)) {
  std::vector<Array> result;
  for (const Array& array : arrays) result.push_back(change(array));
  return result;
}

// The arrays in this dtype, which need no common one then.
std::vector<Array> in_dtype(ListOf<Array> arrays, std::optional<DType> dtype) {
  std::vector<Array> result(arrays.begin(), arrays.end());
  if (dtype) {
    for (Array& array : result) array = astype(array, *dtype);
  }
  return result;
}

}  // namespace

// ---- order of elements and dimensions ----

Array reshape(const Array& x, ListOf<int64_t> shape, ElementOrder order) {
  if (order == ElementOrder::kLastFastest) return reshape(x, shape);
  const std::vector<int64_t> reversed(shape.rbegin(), shape.rend());
  return transpose(reshape(transpose(x), reversed));
}

Array ravel(const Array& x, ElementOrder order) {
  return ravel(order == ElementOrder::kLastFastest ? x : transpose(x));
}

Array moveaxis(const Array& x, ListOf<int64_t> source, ListOf<int64_t> destination) {
  const std::vector<int64_t> sources = distinct_axes(source, x.rank(), "moveaxis");
  const std::vector<int64_t> targets = distinct_axes(destination, x.rank(), "moveaxis");
  if (sources.size() != targets.size()) {
    invalid_argument(fmt::format("moveaxis: source and destination differ in number: {} and {}",
                                 shape_to_string(source), shape_to_string(destination)));
  }
  std::vector<int64_t> order(x.rank(), -1);
  for (size_t i = 0; i < sources.size(); ++i) order[targets[i]] = sources[i];
  int64_t next = 0;
  for (int64_t& axis : order) {
    if (axis >= 0) continue;
    while (std::ranges::find(sources, next) != sources.end()) ++next;
    axis = next++;
  }
  return transpose(x, order);
}

Array rollaxis(const Array& x, int64_t axis_in, int64_t start_in) {
  const int64_t axis = normalize_axis(axis_in, x.rank(), "rollaxis");
  const int64_t start = normalize_axis(start_in, x.rank() + 1, "rollaxis: start");
  return moveaxis(x, axis, start - (axis < start ? 1 : 0));
}

Array rot90(const Array& x, int64_t k, std::pair<int64_t, int64_t> axes) {
  const std::vector<int64_t> plane = distinct_axes({axes.first, axes.second}, x.rank(), "rot90");
  switch (k & 3) {
    case 0:
      return x;
    case 1:
      return swapaxes(flip(x, plane[1]), plane[0], plane[1]);
    case 2:
      return flip(x, plane);
    default:
      return flip(swapaxes(x, plane[0], plane[1]), plane[1]);
  }
}

// ---- joining ----

Array concatenate(ListOf<Array> arrays, std::optional<int64_t> axis, std::optional<DType> dtype) {
  const std::vector<Array> operands = in_dtype(arrays, dtype);
  if (axis) return concatenate(operands, *axis);
  return concatenate(each(operands, [](const Array& x) { return ravel(x); }), 0);
}

Array stack(ListOf<Array> arrays, int64_t axis, std::optional<DType> dtype) {
  return stack(in_dtype(arrays, dtype), axis);
}

Array vstack(ListOf<Array> arrays, std::optional<DType> dtype) {
  return concatenate(each(arrays, atleast_2d), 0, dtype);
}

Array hstack(ListOf<Array> arrays, std::optional<DType> dtype) {
  const std::vector<Array> widened = each(arrays, atleast_1d);
  const bool are_vectors = !widened.empty() && widened[0].rank() == 1;
  return concatenate(widened, are_vectors ? 0 : 1, dtype);
}

Array dstack(ListOf<Array> arrays, std::optional<DType> dtype) {
  return concatenate(each(arrays, atleast_3d), 2, dtype);
}

Array column_stack(ListOf<Array> arrays) {
  const auto as_columns = [](const Array& x) {
    return x.rank() < 2 ? transpose(atleast_2d(x)) : x;
  };
  return concatenate(each(arrays, as_columns), 1);
}

Array atleast_1d(const Array& x) { return x.rank() >= 1 ? x : reshape(x, {1}); }
Array atleast_2d(const Array& x) { return x.rank() >= 2 ? x : reshape(x, {1, -1}); }
Array atleast_3d(const Array& x) {
  if (x.rank() >= 3) return x;
  return x.rank() == 2 ? expand_dims(x, {2}) : reshape(x, {1, -1, 1});
}

// ---- splitting ----

std::vector<Array> array_split(const Array& x, int64_t sections, int64_t axis) {
  if (sections < 1) {
    invalid_argument(
        fmt::format("array_split: the number of parts must be positive, got {}", sections));
  }
  const int64_t length = x.shape()[normalize_axis(axis, x.rank(), "array_split")];
  const int64_t small = length / sections, num_large = length % sections;
  std::vector<int64_t> ends;
  ends.reserve(sections - 1);
  for (int64_t i = 1; i < sections; ++i) ends.push_back(i * small + std::min(i, num_large));
  return split(x, ends, axis);
}

std::vector<Array> unstack(const Array& x, int64_t axis_in) {
  if (x.rank() == 0) invalid_argument("unstack: x must have at least one dimension, got a scalar");
  const int64_t axis = normalize_axis(axis_in, x.rank(), "unstack");
  std::vector<Array> result;
  std::vector<Index> index(axis, Slice{});
  index.emplace_back(int64_t{0});
  for (int64_t i = 0; i < x.shape()[axis]; ++i) {
    index.back() = i;
    result.push_back(take(x, index));
  }
  return result;
}

// ---- shapes ----

std::vector<Array> broadcast_arrays(ListOf<Array> arrays) {
  std::vector<std::span<const int64_t>> shapes;
  for (const Array& array : arrays) shapes.push_back(array.shape());
  const Shape common =
      with_error_prefix("broadcast_arrays", [&] { return broadcast_shapes(shapes); });
  std::vector<Array> result;
  for (const Array& array : arrays) result.push_back(broadcast_to(array, common));
  return result;
}

Array matrix_transpose(const Array& x) {
  if (x.rank() < 2) {
    invalid_argument(
        fmt::format("matrix_transpose: needs two dimensions, got {}", x.type().to_string()));
  }
  return swapaxes(x, -1, -2);
}

}  // namespace farcall::numpy
