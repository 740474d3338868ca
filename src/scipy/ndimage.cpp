#include <farcall/scipy/ndimage.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/ops/numpy.h>

#include "ops/internal/numpy.h"

namespace farcall::ndimage {
namespace {

constexpr std::string_view kModes[] = {"constant", "nearest", "wrap", "mirror", "reflect"};

// Maps an index into [0, size) as `mode` says.
Array brought_inside(const Array& index, int64_t size, std::string_view mode) {
  if (mode == "nearest" || mode == "constant") return numpy::clip(index, 0, size - 1);
  if (mode == "wrap") return numpy::remainder(index, size);
  if (mode == "mirror") {
    const int64_t period = std::max<int64_t>(2 * (size - 1), 1);
    return numpy::absolute(numpy::remainder(index + (size - 1), period) - (size - 1));
  }
  // "reflect" repeats the elements at the edges.
  const Array at = numpy::remainder(index, 2 * size);
  return numpy::minimum(at, 2 * size - 1 - at);
}

struct Neighbour {
  Array index;
  std::optional<Array> weight;
};

std::vector<Neighbour> neighbours_of(const Array& place, int64_t order) {
  if (order == 0) {
    // Rounds halves up, so that every element covers an interval of equal size.
    return {{numpy::astype(numpy::floor(place + 0.5), DType::kInt32), {}}};
  }
  const Array low = numpy::floor(place), up = place - low;
  const Array index = numpy::astype(low, DType::kInt32);
  return {{index, 1 - up}, {index + 1, up}};
}

// The value at one corner of the cell around each position.
Array corner(const Array& input, const std::vector<const Neighbour*>& at, std::string_view mode,
             const Array& cval) {
  std::vector<numpy::Index> inside;
  for (size_t i = 0; i < at.size(); ++i) {
    inside.emplace_back(brought_inside(at[i]->index, input.shape()[i], mode));
  }
  Array value = numpy::take(input, inside);
  if (mode == "constant") {
    for (size_t i = 0; i < at.size(); ++i) {
      const Array is_in = numpy::logical_and(at[i]->index >= 0, at[i]->index < input.shape()[i]);
      value = numpy::where(is_in, value, numpy::astype(cval, value.dtype()));
    }
  }
  for (const Neighbour* each : at) {
    if (each->weight) value = value * *each->weight;
  }
  return value;
}

}  // namespace

Array map_coordinates(const Array& input, ListOf<Array> coordinates, int64_t order,
                      std::string_view mode, const Array& cval) {
  if (order != 0 && order != 1) {
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("map_coordinates: order must be 0 or 1, got {}", order));
  }
  if (std::ranges::find(kModes, mode) == std::end(kModes)) {
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("map_coordinates: mode must be one of ('{}'), got '{}'",
                            fmt::join(kModes, "', '"), mode));
  }
  if (coordinates.size() != input.rank()) {
    invalid_argument(
        fmt::format("map_coordinates: coordinates must have {} arrays, one for each "
                    "dimension of the input, got {}",
                    input.rank(), coordinates.size()));
  }
  std::vector<std::vector<Neighbour>> neighbours;
  for (const Array& places : coordinates) {
    neighbours.push_back(neighbours_of(numpy::promote_inexact(places, "map_coordinates"), order));
  }
  // Visits all corners; the last dimension varies fastest.
  std::optional<Array> total;
  const size_t num_corners = order == 0 ? 1 : size_t{1} << neighbours.size();
  for (size_t which = 0; which < num_corners; ++which) {
    std::vector<const Neighbour*> at;
    for (size_t i = 0; i < neighbours.size(); ++i) {
      at.push_back(&neighbours[i][which >> (neighbours.size() - 1 - i) & 1]);
    }
    const Array value = corner(input, at, mode, cval);
    total = total ? *total + value : value;
  }
  const bool is_whole = is_integer(input.dtype()) || input.dtype() == DType::kBool;
  return numpy::astype(is_whole && order == 1 ? numpy::rint(*total) : *total, input.dtype());
}

}  // namespace farcall::ndimage
