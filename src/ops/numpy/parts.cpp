// numpy's functions that split, repeat or mask arrays: split, repeat, tile, tril, triu, diagonal,
// trace.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_arrays.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

Shape shape_of(const Array& x) { return {x.shape().begin(), x.shape().end()}; }

Array slice_axis(const Array& x, int64_t axis, int64_t start, int64_t limit) {
  Shape starts(x.rank(), 0), limits = shape_of(x);
  starts[axis] = start;
  limits[axis] = limit;
  return lax::slice(x, starts, limits);
}

void require_matrix(const Array& x, std::string_view function) {
  if (x.rank() >= 2) return;
  invalid_argument(
      fmt::format("{}: needs at least two dimensions, got {}", function, x.type().to_string()));
}

// x where compare(column - row, k) holds, else zero.
Array triangle(const Array& x, int64_t k, Array (*compare)(const Array&, const Array&),
               std::string_view function) {
  require_matrix(x, function);
  const auto matrix = x.shape().last(2);
  const bool is_narrow = std::ranges::max(matrix) < std::numeric_limits<int32_t>::max();
  const DType dtype = is_narrow ? DType::kInt32 : DType::kInt64;
  const Array row = lax::iota(dtype, matrix, 0);
  const Array column = lax::iota(dtype, matrix, 1);
  // Beyond these bounds, k makes no further difference.
  const Array limit = Array::scalar(std::clamp(k, -matrix[0], matrix[1]));
  const Array mask = compare(lax::sub(column, row), lax::convert_element_type(limit, dtype));
  return where(mask, x, zeros_like(x));
}

}  // namespace

std::vector<Array> split(const Array& x, ListOf<int64_t> indices, int64_t axis) {
  const int64_t which = normalize_axis(axis, x.rank(), "split");
  const int64_t size = x.shape()[which];
  std::vector<Array> parts;
  int64_t start = 0;
  // Negative indices count from the end. Parts between decreasing indices are empty.
  const auto add_part = [&](int64_t limit) {
    parts.push_back(slice_axis(x, which, std::min(start, limit), limit));
    start = limit;
  };
  for (const int64_t index : indices) {
    const int64_t limit = std::clamp(index < 0 ? index + size : index, int64_t{0}, size);
    if (limit < start) {
      parts.push_back(slice_axis(x, which, start, start));
      start = limit;
    } else {
      add_part(limit);
    }
  }
  add_part(size);
  return parts;
}

std::vector<Array> split(const Array& x, int64_t sections, int64_t axis) {
  const int64_t which = normalize_axis(axis, x.rank(), "split");
  const int64_t size = x.shape()[which];
  if (sections < 1 || size % sections != 0) {
    invalid_argument(
        fmt::format("split: dimension {} of {} cannot be divided into {} equal parts; "
                    "array_split makes unequal ones",
                    which, x.type().to_string(), sections));
  }
  std::vector<int64_t> indices;
  for (int64_t i = 1; i < sections; ++i) indices.push_back(i * (size / sections));
  return split(x, indices, axis);
}

Array repeat(const Array& x, int64_t repeats, std::optional<int64_t> axis) {
  if (!axis) return repeat(ravel(x), repeats, 0);
  if (repeats < 0) {
    invalid_argument(fmt::format("repeat: repeats must not be negative, got {}", repeats));
  }
  const int64_t which = normalize_axis(*axis, x.rank(), "repeat");
  const int64_t inserted = which + 1;
  Shape shape = shape_of(x), joined = shape;
  shape.insert(shape.begin() + inserted, repeats);
  joined[which] *= repeats;
  return lax::reshape(broadcast_to(expand_dims(x, {&inserted, 1}), shape), joined);
}

Array tile(const Array& x, ListOf<int64_t> repeats) {
  const size_t rank = std::max(x.rank(), repeats.size());
  // Inserts a dimension for the copies before each dimension.
  Shape apart, full, joined;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = i + x.rank() < rank ? 1 : x.shape()[i + x.rank() - rank];
    const int64_t count = i + repeats.size() < rank ? 1 : repeats[i + repeats.size() - rank];
    if (count < 0) {
      invalid_argument(
          fmt::format("tile: repeats must not be negative, got {}", shape_to_string(repeats)));
    }
    apart.insert(apart.end(), {1, size});
    full.insert(full.end(), {count, size});
    joined.push_back(count * size);
  }
  return reshape(broadcast_to(reshape(x, apart), full), joined);
}

Array tril(const Array& x, int64_t k) { return triangle(x, k, lax::le, "tril"); }
Array triu(const Array& x, int64_t k) { return triangle(x, k, lax::ge, "triu"); }

// Cuts each matrix to the square whose main diagonal is the wanted one. In the flattened n x n
// square, every (n + 1)th element is on the diagonal.
Array diagonal(const Array& x, int64_t offset, int64_t axis1, int64_t axis2) {
  require_matrix(x, "diagonal");
  const int64_t rows = normalize_axis(axis1, x.rank(), "diagonal");
  const int64_t columns = normalize_axis(axis2, x.rank(), "diagonal");
  if (rows == columns) {
    invalid_argument(fmt::format("diagonal: axis1 and axis2 must differ, both are {}", axis1));
  }
  std::vector<int64_t> order;
  for (int64_t i = 0; i < static_cast<int64_t>(x.rank()); ++i) {
    if (i != rows && i != columns) order.push_back(i);
  }
  order.insert(order.end(), {rows, columns});
  const Array matrices = transpose(x, order);
  const auto rank = static_cast<int64_t>(x.rank());
  const int64_t num_rows = x.shape()[rows], num_columns = x.shape()[columns];
  const int64_t first_row = std::min(std::max(-offset, int64_t{0}), num_rows);
  const int64_t first_column = std::min(std::max(offset, int64_t{0}), num_columns);
  const int64_t size = std::min(num_rows - first_row, num_columns - first_column);
  const Array square = slice_axis(slice_axis(matrices, rank - 2, first_row, first_row + size),
                                  rank - 1, first_column, first_column + size);
  Shape flat(square.shape().begin(), square.shape().end() - 2);
  flat.push_back(size * size);
  const Array elements = reshape(square, flat);
  Shape strides(flat.size(), 1);
  strides.back() = size + 1;
  return lax::slice(elements, Shape(flat.size(), 0), flat, strides);
}

Array trace(const Array& x, int64_t offset, int64_t axis1, int64_t axis2,
            std::optional<DType> dtype) {
  for (const int64_t axis : {axis1, axis2}) normalize_axis(axis, x.rank(), "trace");
  const Array values = diagonal(x, offset, axis1, axis2);
  if (!dtype) return sum(values, Axes{{-1}});
  return astype(sum(astype(values, *dtype), Axes{{-1}}), *dtype);
}

}  // namespace farcall::numpy
