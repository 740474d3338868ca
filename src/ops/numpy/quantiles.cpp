// numpy's quantiles.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>

#include "ops/internal/numpy.h"
#include "ops/internal/rules.h"

namespace farcall::numpy {
namespace {

// Sorted elements along the last dimension, NaNs last.
struct Ordered {
  Array elements;  // [..., size]
  Array last;      // position of the last element that counts, as a float
  Array is_nan;    // whether the result is NaN for every q
};

// The dtype in which positions are computed: float64 if x or q is float64, or if q is exact (a
// host-language number or an integer); else float32.
DType dtype_of_places(const Array& x, const Array& q) {
  const bool is_wide = x.dtype() == DType::kFloat64 || q.dtype() == DType::kFloat64;
  return is_wide || q.type().weak_type() || !is_floating(q.dtype()) ? DType::kFloat64
                                                                    : DType::kFloat32;
}

// The axes joined to one, the last.
Array lanes_of(const Array& x, const std::vector<int64_t>& axes) {
  std::vector<int64_t> permutation;
  Shape shape;
  int64_t size = 1;
  for (size_t i = 0; i < x.rank(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    if (std::ranges::find(axes, axis) != axes.end()) {
      size *= x.shape()[i];
    } else {
      permutation.push_back(axis);
      shape.push_back(x.shape()[i]);
    }
  }
  permutation.insert(permutation.end(), axes.begin(), axes.end());
  shape.push_back(size);
  return reshape(transpose(x, permutation), shape);
}

Ordered order(const Array& x, const std::vector<int64_t>& axes, bool ignores_nan, DType places) {
  const Array elements = sort(lanes_of(x, axes), -1);
  const auto lane_axis = static_cast<int64_t>(elements.rank()) - 1;
  const Array is_nan = lax::ne(elements, elements);
  if (!ignores_nan) {
    const auto size = static_cast<double>(elements.shape()[lane_axis]);
    const Shape shape(elements.shape().begin(), elements.shape().end() - 1);
    const Array last = full(shape, scalar_of(places, size - 1));
    return {elements, last, any(is_nan, lane_axis)};
  }
  const Array numbers = lax::convert_element_type(lax::bitwise_not(is_nan), DType::kInt64);
  const Array count = lax::reduce_sum(numbers, {&lane_axis, 1});
  const Array last = lax::sub(lax::convert_element_type(count, places), scalar_of(places, 1));
  return {elements, last, lax::eq(count, scalar_of(DType::kInt64, 0))};
}

// below + (above - below) * weight, computed from the nearer end, so that both ends are exact. If
// the difference is infinite or NaN, uses the weighted sum.
Array between(const Array& below, const Array& above, const Array& weight) {
  const Array rest = lax::sub(like(weight, 1), weight);
  const Array difference = lax::sub(above, below);
  const Array from_nearer =
      select(lax::lt(weight, like(weight, 0.5)), lax::add(below, lax::mul(difference, weight)),
             lax::sub(above, lax::mul(difference, rest)));
  const Array sum = lax::add(lax::mul(below, rest), lax::mul(above, weight));
  const Array inside = select(lax::is_finite(difference), from_nearer, sum);
  return select(lax::eq(weight, like(weight, 0)), below, inside);
}

Array element(const Array& ordered, const Array& place) {
  const auto axis = static_cast<int64_t>(place.rank());
  const Array index = lax::convert_element_type(lax::expand_dims(place, {&axis, 1}), DType::kInt64);
  const Array found = take_along_axis(ordered, index, axis, {.mode = "clip"});
  return lax::squeeze(found, {&axis, 1});
}

Array at_part(const Ordered& ordered, const Array& part, QuantileMethod method, DType compute) {
  const Array zero = like(ordered.last, 0);
  const Array end = lax::max(ordered.last, zero);
  const Array place = multiply(lax::convert_element_type(part, end.dtype()), ordered.last);
  const Array low = lax::clamp(zero, lax::floor(place), end);
  const Array high = lax::clamp(zero, lax::ceil(place), end);
  const auto at = [&](const Array& where) {
    return lax::convert_element_type(element(ordered.elements, where), compute);
  };
  const Array distance = lax::sub(place, low);
  switch (method) {
    case QuantileMethod::kLower:
      return at(low);
    case QuantileMethod::kHigher:
      return at(high);
    case QuantileMethod::kNearest:
      return at(select(lax::le(distance, like(distance, 0.5)), low, high));
    default:
      break;
  }
  const bool is_middle = method == QuantileMethod::kMidpoint;
  const Array half = select(lax::eq(low, high), zero, like(zero, 0.5));
  const Array weight = lax::convert_element_type(is_middle ? half : distance, compute);
  return between(at(low), at(high), weight);
}

// What a quantile is taken of, checked.
struct Operand {
  Array array;  // of floats
  std::vector<int64_t> axes;
};

Operand checked(const Array& x, const Array& q, const Axes& axes, std::string_view function) {
  Operand operand = {promote_inexact(x, function), {}};
  const Array& array = operand.array;
  if (is_complex(array.dtype())) {
    invalid_argument(
        fmt::format("{}: complex numbers have no order, got {}", function, x.type().to_string()));
  }
  if (q.rank() > 1) {
    invalid_argument(fmt::format("{}: q must be a scalar or a vector, its shape is {}", function,
                                 shape_to_string(q.shape())));
  }
  operand.axes = normalize_axes(axes, array.rank(), function);
  if (std::ranges::any_of(operand.axes, [&](int64_t axis) { return array.shape()[axis] == 0; })) {
    invalid_argument(fmt::format("{}: an array of shape {} has no elements to choose", function,
                                 shape_to_string(array.shape())));
  }
  return operand;
}

// The results for a scalar part, or for each one of a vector, joined.
template <class ResultAt>
Array at_each(const Array& parts, const ResultAt& result_at) {
  if (parts.rank() == 0) return result_at(parts);
  std::vector<Array> results;
  for (int64_t i = 0; i < parts.shape()[0]; ++i) results.push_back(result_at(take(parts, {i})));
  if (!results.empty()) return stack(results, 0);
  const Array none = result_at(scalar_of(parts.dtype(), 0));
  Shape shape = {0};
  shape.insert(shape.end(), none.shape().begin(), none.shape().end());
  return zeros(shape, none.dtype());
}

// `unit`: the value of q that means the last element, 1 or 100.
Array quantile_in(const Array& x, const Array& q, double unit, const QuantileOptions& options,
                  const std::string& function) {
  const Operand operand = checked(x, q, options.axes, function);
  const Array& array = operand.array;
  const std::vector<int64_t>& axes = operand.axes;
  const DType places = dtype_of_places(array, q);
  const Array part = lax::div(convert(q, {places, false}), scalar_of(places, unit));
  const Ordered ordered = order(array, axes, options.ignores_nan, places);
  const bool is_narrow = dtype_info(array.dtype()).bits < 32;
  const DType compute = is_narrow ? DType::kFloat32 : array.dtype();
  return at_each(part, [&](const Array& one) {
    const Array value = at_part(ordered, one, options.method, compute);
    const Array nan = scalar_of(compute, std::numeric_limits<double>::quiet_NaN());
    const Array known =
        lax::convert_element_type(select(ordered.is_nan, nan, value), array.dtype());
    return options.keepdims ? expand_dims(known, axes) : known;
  });
}

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

std::string named(const char* function, const QuantileOptions& options) {
  return std::string(options.ignores_nan ? "nan" : "") + function;
}

}  // namespace

Array quantile(const Array& x, const Array& q, const QuantileOptions& options) {
  return quantile_in(x, q, 1, options, named("quantile", options));
}

Array percentile(const Array& x, const Array& q, const QuantileOptions& options) {
  return quantile_in(x, q, 100, options, named("percentile", options));
}

Array median(const Array& x, const Axes& axes, bool keepdims, bool ignores_nan) {
  const QuantileOptions options = {.axes = axes,
                                   .method = QuantileMethod::kMidpoint,
                                   .keepdims = keepdims,
                                   .ignores_nan = ignores_nan};
  return quantile_in(x, Array(0.5), 1, options, named("median", options));
}

Array inverted_cdf(const Array& x_in, const Array& q, const InvertedCdfOptions& options) {
  const Operand operand = checked(x_in, q, options.axes, "quantile");
  const Array& x = operand.array;
  const std::vector<int64_t>& axes = operand.axes;
  const Array elements = lanes_of(x, axes);
  const int64_t size = elements.shape().back();
  const DType compute = dtype_of_places(x, q);
  const Array order = argsort(elements, -1);
  const Array sorted = take_along_axis(elements, order, -1);
  const Array given = options.weights ? weights_for(x, *options.weights, axes) : ones_like(x);
  Array weights = take_along_axis(lanes_of(astype(given, compute), axes), order, -1);
  const Array is_nan = isnan(sorted);
  if (options.ignores_nan) weights = where(is_nan, 0, weights);
  const Array running = cumsum(weights, -1);
  const Array total = take(running, {Ellipsis{}, Slice{.start = size - 1}});
  const Array part = running / total;
  const Array nan = astype(std::numeric_limits<double>::quiet_NaN(), x.dtype());
  const Array is_known = logical_and(
      greater(total, 0), options.ignores_nan ? Array(true) : logical_not(any(is_nan, -1, true)));
  return at_each(astype(q, compute) / options.whole, [&](const Array& one) {
    const Array is_before = logical_or(less(part, one), less_equal(running, 0));
    const Array place = minimum(sum(astype(is_before, DType::kInt32), -1, true), size - 1);
    const Array found = where(is_known, take_along_axis(sorted, place, -1), nan);
    const Array value = squeeze(found, std::vector<int64_t>{-1});
    return options.keepdims ? expand_dims(value, axes) : value;
  });
}

}  // namespace farcall::numpy
