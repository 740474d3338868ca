#include <farcall/numpy/histograms.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/core/sizes.h>
#include <farcall/numpy/order.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/ops/promotion.h>
#include <farcall/trace/compile_time.h>
#include <farcall/trace/origin.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

// The largest element plus one; 0 if there are no elements.
int64_t known_length(const Array& x) {
  if (!x.has_known_values()) {
    throw ConcretizationError(
        fmt::format("bincount: the length of the result depends on the values of a traced array: "
                    "{}. To fix this, pass length=, or {}",
                    why_unknown(x), how_to_know(x)));
  }
  if (x.size() == 0) return 0;
  const CompileTimeEval eval;
  const Array largest = max(Array(x.type(), x.storage()));
  return checked_sum(lax::convert_element_type(largest, DType::kInt64).item<int64_t>(), 1);
}

// The bin number of each value, from 1. The last bin includes its upper edge.
Array bin_of(const Array& values, const Array& edges) {
  const Array place = searchsorted(edges, values, /*after_equal=*/true);
  return where(equal(values, take(edges, {-1})), edges.shape()[0] - 1, place);
}

}  // namespace

Array bincount(const Array& x_in, const BincountOptions& options) {
  const Array x = x_in.dtype() == DType::kBool ? astype(x_in, DType::kInt32) : x_in;
  if (x.rank() != 1 || !is_integer(x.dtype())) {
    throw TypeError(
        fmt::format("bincount: x must be integers in one dimension, got {}", x.type().to_string()));
  }
  const int64_t length =
      options.length ? *options.length : std::max(known_length(x), options.minlength);
  const Array weights = options.weights ? *options.weights : astype(1, default_int());
  return update(zeros({length}, weights.dtype()), {maximum(x, 0)}, weights, Update::kAdd,
                {.mode = GatherScatterMode::kFillOrDrop});
}

Array histogram_bin_edges(const Array& a, const Bins& bins, const BinRange& range) {
  const Array values = promote_inexact(a, "histogram_bin_edges");
  if (const auto* edges = std::get_if<Array>(&bins)) return astype(*edges, values.dtype());
  Array first = 0.0, last = 1.0;
  if (range) {
    first = range->first;
    last = range->second;
  } else if (values.size() > 0) {
    first = min(values);
    last = max(values);
  }
  const Array half = where(equal(first, last), 0.5, 0.0);
  const int64_t count = checked_sum(std::get<int64_t>(bins), 1);
  return astype(linspace(subtract(first, half), add(last, half), count), values.dtype());
}

Histogram histogram(const Array& a, const Bins& bins, const BinRange& range,
                    const HistogramOptions& options) {
  HistogramOptions of_points = options;
  const Array points = reshape(promote_inexact(a, "histogram"), {-1, 1});
  // Without weights, the counts have the dtype of the values.
  of_points.weights =
      options.weights ? ravel(*options.weights) : ones({points.shape()[0]}, points.dtype());
  return histogramdd(points, {&bins, 1}, {&range, 1}, of_points);
}

Histogram histogramdd(const Array& sample, std::span<const Bins> bins,
                      std::span<const BinRange> ranges, const HistogramOptions& options) {
  Array points = promote_inexact(sample, "histogramdd"), weights = 1;
  if (options.weights) {
    const ShapeDtype types[] = {sample.type(), options.weights->type()};
    const PromotedDType common =
        with_error_prefix("histogramdd", [&] { return promote_to_inexact(types); });
    points = convert(sample, common);
    weights = convert(*options.weights, common);
  }
  if (points.rank() != 2) {
    invalid_argument(fmt::format("histogramdd: sample must have a point in each row, got {}",
                                 points.type().to_string()));
  }
  const auto rank = static_cast<size_t>(points.shape()[1]);
  if (bins.size() != rank || (!ranges.empty() && ranges.size() != rank)) {
    invalid_argument(
        fmt::format("histogramdd: bins has {} entries and range {} for points of {} numbers",
                    bins.size(), ranges.size(), rank));
  }
  std::vector<Array> edges;
  std::vector<Index> places;
  Shape shape;
  for (size_t i = 0; i < rank; ++i) {
    const Array column = take(points, {Slice{}, static_cast<int64_t>(i)});
    edges.push_back(histogram_bin_edges(column, bins[i], ranges.empty() ? BinRange() : ranges[i]));
    places.emplace_back(bin_of(column, edges.back()));
    shape.push_back(edges.back().shape()[0]);
  }
  const DType dtype = options.weights ? weights.dtype() : default_int();
  // Bin 0 counts the values below the range; those above are dropped.
  Array counts = update(zeros(shape, dtype), places, weights, Update::kAdd,
                        {.mode = GatherScatterMode::kFillOrDrop});
  counts = take(counts, std::vector<Index>(rank, Slice{.start = 1}));
  if (options.density) {
    const Array numbers = astype(counts, points.dtype());
    counts = divide(numbers, sum(numbers));
    for (size_t i = 0; i < rank; ++i) {
      Shape along(rank, 1);
      along[i] = -1;
      counts = counts / reshape(diff(edges[i]), along);
    }
  }
  return {counts, edges};
}

}  // namespace farcall::numpy
