#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/numpy/order.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

// Of the shape of x, from weights of this shape or of one axis.
Array weights_for(const Array& x, const Array& weights, const std::vector<int64_t>& axes) {
  if (std::ranges::equal(weights.shape(), x.shape())) return weights;
  if (axes.size() != 1 || weights.rank() != 1 || weights.shape()[0] != x.shape()[axes[0]]) {
    invalid_argument(
        fmt::format("quantile: weights must have the shape of {} or be a vector of the size of "
                    "one axis, got {}",
                    x.type().to_string(), weights.type().to_string()));
  }
  return lax::broadcast_in_dim(weights, x.shape(), axes);
}

// The axes joined to one, the last.
Array lanes_of(const Array& x, const std::vector<int64_t>& axes) {
  std::vector<int64_t> order;
  Shape shape;
  for (int64_t axis = 0; axis < static_cast<int64_t>(x.rank()); ++axis) {
    if (std::ranges::find(axes, axis) != axes.end()) continue;
    order.push_back(axis);
    shape.push_back(x.shape()[axis]);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  int64_t size = 1;
  for (int64_t axis : axes) size *= x.shape()[axis];
  shape.push_back(size);
  return reshape(transpose(x, order), shape);
}

}  // namespace

Array inverted_cdf(const Array& x_in, const Array& q, const InvertedCdfOptions& options) {
  const Array x = promote_inexact(x_in, "quantile");
  refuse_complex(x, "quantile");
  const auto axes = normalize_axes(options.axes, x.rank(), "quantile");
  const Array elements = lanes_of(x, axes);
  const int64_t size = elements.shape().back();
  if (q.rank() > 1 || size == 0) {
    invalid_argument(
        fmt::format("quantile: needs elements, and a scalar or a vector q; got {} and "
                    "q {}",
                    x.type().to_string(), q.type().to_string()));
  }
  const Array given = options.weights ? weights_for(x, *options.weights, axes) : ones_like(x);
  const bool is_wide = q.type().weak_type() || !is_floating(q.dtype()) ||
                       q.dtype() == DType::kFloat64 || x.dtype() == DType::kFloat64;
  const DType compute = is_wide ? DType::kFloat64 : DType::kFloat32;
  const Array order = argsort(elements, -1);
  const Array sorted = take_along_axis(elements, order, -1);
  Array weights = take_along_axis(lanes_of(astype(given, compute), axes), order, -1);
  const Array is_nan = isnan(sorted);
  if (options.ignores_nan) weights = where(is_nan, 0, weights);
  const Array running = cumsum(weights, -1);
  const Array total = take(running, {Ellipsis{}, Slice{.start = size - 1}});
  const Array part = running / total;
  const Array nan = astype(std::numeric_limits<double>::quiet_NaN(), x.dtype());
  const Array is_known = logical_and(
      greater(total, 0), options.ignores_nan ? Array(true) : logical_not(any(is_nan, -1, true)));
  const auto at = [&](const Array& one) {
    const Array is_before = logical_or(less(part, one), less_equal(running, 0));
    const Array place = minimum(sum(astype(is_before, DType::kInt32), -1, true), size - 1);
    const Array found = where(is_known, take_along_axis(sorted, place, -1), nan);
    const Array value = squeeze(found, std::vector<int64_t>{-1});
    return options.keepdims ? expand_dims(value, axes) : value;
  };
  const Array parts = astype(q, compute) / options.whole;
  if (q.rank() == 0) return at(parts);
  std::vector<Array> results;
  for (int64_t i = 0; i < q.shape()[0]; ++i) results.push_back(at(take(parts, {i})));
  if (!results.empty()) return stack(results, 0);
  const Array none = expand_dims(at(zeros({}, compute)), {0});
  return take(none, {Slice{.stop = 0}});
}

}  // namespace farcall::numpy
