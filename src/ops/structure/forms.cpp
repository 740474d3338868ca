// Broadcasting, reshaping, splitting and index_take, strict about shapes.
#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/sizes.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/ops/structure.h>

#include "ops/internal/numpy.h"

namespace farcall::lax {
namespace {

using Indices = std::vector<int64_t>;

int64_t rank_of(const Array& x) { return static_cast<int64_t>(x.rank()); }

}  // namespace

Array broadcast(const Array& operand, ListOf<int64_t> sizes) {
  if (std::ranges::any_of(sizes, [](int64_t size) { return size < 0; })) {
    invalid_argument(
        fmt::format("broadcast: sizes {} must not be negative", shape_to_string(sizes)));
  }
  Indices shape(sizes.begin(), sizes.end());
  shape.insert(shape.end(), operand.shape().begin(), operand.shape().end());
  return numpy::broadcast_to(operand, shape);
}

Array broadcast_to_rank(const Array& x, int64_t rank) {
  if (rank < rank_of(x)) {
    invalid_argument(fmt::format("broadcast_to_rank: {} has more than {} dimensions",
                                 x.type().to_string(), rank));
  }
  constexpr int64_t kMaxRank = 1024;
  if (rank > kMaxRank) {
    invalid_argument(fmt::format("broadcast_to_rank: rank {} is above {}", rank, kMaxRank));
  }
  Indices shape(static_cast<size_t>(rank - rank_of(x)), 1);
  shape.insert(shape.end(), x.shape().begin(), x.shape().end());
  return reshape(x, shape);
}

Array collapse(const Array& operand, int64_t start, std::optional<int64_t> stop) {
  const int64_t rank = rank_of(operand);
  const auto inside = [&](int64_t dimension) {
    return std::clamp<int64_t>(dimension < 0 ? std::max(dimension, -rank) + rank : dimension, 0,
                               rank);
  };
  const int64_t first = inside(start), end = inside(stop.value_or(rank));
  if (end < first) {
    invalid_argument(fmt::format("collapse: start {} is after stop {} for {}", start,
                                 stop.value_or(rank), operand.type().to_string()));
  }
  const auto sizes = operand.shape();
  Indices shape(sizes.begin(), sizes.begin() + first);
  shape.push_back(
      std::accumulate(sizes.begin() + first, sizes.begin() + end, int64_t{1}, std::multiplies<>()));
  shape.insert(shape.end(), sizes.begin() + end, sizes.end());
  return reshape(operand, shape);
}

Array tile(const Array& operand, ListOf<int64_t> repeats) {
  if (repeats.size() != operand.rank()) {
    invalid_argument(
        fmt::format("tile: repeats must have one entry for each dimension of {}, got {}",
                    operand.type().to_string(), repeats.size()));
  }
  return numpy::tile(operand, repeats);
}

std::vector<Array> split(const Array& operand, ListOf<int64_t> sizes, int64_t axis) {
  axis = numpy::normalize_axis(axis, operand.rank(), "split");
  int64_t total = 0;
  for (const int64_t size : sizes) {
    if (size < 0) {
      invalid_argument(fmt::format("split: sizes {} must not be negative", shape_to_string(sizes)));
    }
    total = checked_sum(total, size);
  }
  if (total != operand.shape()[axis]) {
    invalid_argument(fmt::format("split: sizes {} do not add up to {}, the size of axis {} of {}",
                                 shape_to_string(sizes), operand.shape()[axis], axis,
                                 operand.type().to_string()));
  }
  std::vector<Array> parts;
  Indices start(operand.rank(), 0), limit(operand.shape().begin(), operand.shape().end());
  int64_t place = 0;
  for (const int64_t size : sizes) {
    start[axis] = place;
    limit[axis] = place + size;
    parts.push_back(slice(operand, start, limit));
    place += size;
  }
  return parts;
}

Array index_take(const Array& src, ListOf<Array> indices, ListOf<int64_t> axes) {
  if (indices.empty() || indices.size() != axes.size()) {
    invalid_argument(
        fmt::format("index_take: needs a vector of indices for each axis, got {} for "
                    "axes {}",
                    indices.size(), shape_to_string(axes)));
  }
  Indices order;
  for (const int64_t axis : axes)
    order.push_back(numpy::normalize_axis(axis, src.rank(), "index_take"));
  for (int64_t axis = 0; axis < rank_of(src); ++axis) {
    const auto given = std::ranges::count(order, axis);
    if (given > 1) {
      invalid_argument(
          fmt::format("index_take: axes {} contain a dimension twice", shape_to_string(axes)));
    }
    if (given == 0) order.push_back(axis);
  }
  const std::vector<numpy::Index> places(indices.begin(), indices.end());
  return numpy::get(transpose(src, order), places);
}

}  // namespace farcall::lax
