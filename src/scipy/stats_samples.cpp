// Statistics of samples.
#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/numpy/shapes.h>
#include <farcall/ops/cumulative.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/ops/numpy_statistics.h>

#include "ops/internal/numpy.h"
#include "scipy/stats_support.h"

namespace farcall::stats {
namespace {

using np::Ellipsis;
using np::Slice;

Array from_second(const Array& x) { return np::take(x, {Ellipsis(), Slice{.start = 1}}); }
Array but_last(const Array& x) { return np::take(x, {Ellipsis(), Slice{.stop = -1}}); }

// One value to put before or after each line.
Array edge(const Array& x, bool value) {
  Shape shape(x.shape().begin(), x.shape().end());
  shape.back() = 1;
  return np::full(shape, value, DType::kBool);
}

Array places(const Array& x) {
  return lax::iota(DType::kInt32, x.shape(), static_cast<int64_t>(x.rank()) - 1);
}

// x with the axis moved to the end; without an axis, flattened.
struct Lines {
  Array x;
  int64_t axis;
};
Lines lines_of(const Array& x, std::optional<int64_t> axis, std::string_view function) {
  if (!axis) return {np::ravel(x), 0};
  const int64_t at = np::normalize_axis(*axis, x.rank(), function);
  return {np::moveaxis(x, at, -1), at};
}

}  // namespace

Mode mode(const Array& x_in, std::optional<int64_t> axis, bool keepdims) {
  const Array x = np::atleast_1d(x_in);
  const Lines lines = lines_of(x, axis, "mode");
  const Array last = np::sort(lines.x);
  Mode found;
  if (last.shape().back() == 0) {
    const auto shape = last.shape().first(last.rank() - 1);
    found.mode = np::full(shape, kNan, np::promote_inexact(last, "mode").dtype());
    found.count = np::zeros(shape, found.mode.dtype());
  } else {
    // In sorted order, a new value begins where an element differs from its predecessor.
    const Array is_nan = last != last;
    const Array is_same = np::logical_or(from_second(last) == but_last(last),
                                         np::logical_and(from_second(is_nan), but_last(is_nan)));
    const Array goes_on = np::concatenate({edge(last, false), is_same}, -1);
    const Array place = places(last);
    const Array begin =
        lax::cummax(np::where(goes_on, 0, place), static_cast<int64_t>(last.rank()) - 1);
    const Array counts = place - begin + 1;
    const Array best = np::expand_dims(np::argmax(counts, -1), {-1});
    found.mode = np::squeeze(np::take_along_axis(last, best, -1), -1);
    found.count = np::squeeze(np::take_along_axis(counts, best, -1), -1);
  }
  if (!keepdims) return found;
  Shape kept(x.rank(), 1);
  if (axis) {
    kept.assign(x.shape().begin(), x.shape().end());
    kept[static_cast<size_t>(lines.axis)] = 1;
  }
  return {np::reshape(found.mode, kept), np::reshape(found.count, kept)};
}

Array sem(const Array& x, std::optional<int64_t> axis, int64_t ddof, bool ignores_nan,
          bool keepdims) {
  const Array a = np::promote_inexact(x, "sem");
  const np::Axes axes = axis ? np::Axes(*axis) : np::Axes();
  np::VarOptions options{{.keepdims = keepdims}, static_cast<double>(ddof), {}};
  if (!ignores_nan) {
    double size = 1;
    for (const int64_t each : np::normalize_axes(axes, a.rank(), "sem")) {
      size *= static_cast<double>(a.shape()[static_cast<size_t>(each)]);
    }
    return np::std(a, axes, options) / std::sqrt(size);
  }
  options.where = np::logical_not(np::isnan(a));
  const Array count = np::sum(*options.where, axes, keepdims);
  return np::std(a, axes, options) / np::sqrt(np::astype(count, a.dtype()));
}

Array rankdata(const Array& x, std::string_view method, std::optional<int64_t> axis) {
  constexpr std::string_view kMethods[] = {"average", "min", "max", "dense", "ordinal"};
  if (std::ranges::find(kMethods, method) == std::end(kMethods)) {
    invalid_argument(fmt::format("rankdata: method must be one of ('{}'), got '{}'",
                                 fmt::join(kMethods, "', '"), method));
  }
  const Lines lines = lines_of(x, axis, "rankdata");
  const Array& last = lines.x;
  const auto at = static_cast<int64_t>(last.rank()) - 1;
  const Array order = np::argsort(last), back = np::argsort(order);
  const Array ordered = np::take_along_axis(last, order, -1);
  const Array changes = from_second(ordered) != but_last(ordered);
  const Array place = places(last);
  const Array is_first = np::concatenate({edge(last, true), changes}, -1);
  const Array is_last = np::concatenate({changes, edge(last, true)}, -1);
  const auto first = [&] { return lax::cummax(np::where(is_first, place, 0), at); };
  const auto end = [&] {
    return lax::cummin(np::where(is_last, place, last.shape().back()), at, /*reverse=*/true);
  };
  Array ranks;
  if (method == "ordinal") {
    ranks = place + 1;
  } else if (method == "min") {
    ranks = first() + 1;
  } else if (method == "max") {
    ranks = end() + 1;
  } else if (method == "dense") {
    ranks = np::cumsum(np::astype(is_first, DType::kInt32), at);
  } else {
    ranks = np::astype(first() + end() + 2, DType::kFloat32) / 2;
  }
  ranks = np::take_along_axis(ranks, back, -1);
  if (is_floating(x.dtype())) {
    const Array has_nan = np::any(np::isnan(last), -1, /*keepdims=*/true);
    ranks = np::where(has_nan, kNan, np::astype(ranks, DType::kFloat32));
  }
  return np::moveaxis(ranks, -1, lines.axis);
}

}  // namespace farcall::stats
