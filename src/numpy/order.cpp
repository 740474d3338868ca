#include <farcall/numpy/order.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/ops/cumulative.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

// The part of dimension `axis` from `start` to `stop`.
Array along(const Array& x, int64_t axis, const Slice& part) {
  std::vector<Index> index(axis, Slice{});
  index.emplace_back(part);
  return take(x, index);
}
Array but_first(const Array& x, int64_t axis) { return along(x, axis, {.start = 1}); }
Array but_last(const Array& x, int64_t axis) { return along(x, axis, {.stop = -1}); }
int64_t last_axis(const Array& x) { return static_cast<int64_t>(x.rank()) - 1; }

void check_kth(const Array& x, int64_t kth, int64_t axis, const char* function) {
  const int64_t size = x.shape()[normalize_axis(axis, x.rank(), function)];
  if (kth >= -size && kth < size) return;
  invalid_argument(fmt::format("{}: kth {} is out of range for {} elements", function, kth, size));
}

Array nans_as(const Array& x, int64_t replacement) {
  return where(isnan(x), astype(replacement, x.dtype()), x);
}

Array cumulative(Array (*function)(const Array&, std::optional<int64_t>, std::optional<DType>),
                 int64_t first, const Array& x, const CumulativeOptions& options,
                 const char* name) {
  if (!options.axis && x.rank() > 1) {
    invalid_argument(fmt::format("{}: axis must be given for an array of rank {}", name, x.rank()));
  }
  const int64_t given = options.axis.value_or(0);
  Array result = function(x, given, options.dtype);
  if (!options.include_initial) return result;
  const int64_t axis = normalize_axis(given, result.rank(), name);
  Shape shape(result.shape().begin(), result.shape().end());
  shape[axis] = 1;
  return concatenate({full(shape, first, result.dtype()), result}, axis);
}

// A period, its half, and the negative of that. Host numbers are halved as numbers, so that the
// results stay weakly typed.
struct Halved {
  Array period, half, lowest;
};
Halved halved(const std::variant<int64_t, double, Array>& period, bool as_whole) {
  if (const auto* array = std::get_if<Array>(&period)) {
    const Array half = *array / 2;
    return {*array, half, negative(half)};
  }
  const auto* whole = std::get_if<int64_t>(&period);
  if (whole && as_whole) {
    const int64_t half = (*whole - (*whole & 1)) / 2;  // rounded down
    return {*whole, half, -half};
  }
  const double half = (whole ? static_cast<double>(*whole) : std::get<double>(period)) / 2;
  return {whole ? Array(*whole) : Array(2 * half), half, -half};
}

}  // namespace

// ---- order ----

Array lexsort(ListOf<Array> keys, int64_t axis_in) {
  if (keys.empty()) throw TypeError("lexsort: needs at least one key");
  const Array& first = keys.front();
  const int64_t axis = normalize_axis(axis_in, std::max<size_t>(first.rank(), 1), "lexsort");
  if (first.rank() == 0) return zeros({}, default_int());
  std::vector<Array> operands(keys.rbegin(), keys.rend());
  operands.push_back(lax::iota(default_int(), first.shape(), axis));
  return lax::sort(operands, axis, /*is_stable=*/true, static_cast<int64_t>(keys.size())).back();
}

Array partition(const Array& x, int64_t kth, int64_t axis) {
  check_kth(x, kth, axis, "partition");
  return sort(x, axis);
}
Array argpartition(const Array& x, int64_t kth, int64_t axis) {
  check_kth(x, kth, axis, "argpartition");
  return argsort(x, axis);
}

Array sort_complex(const Array& x) {
  const bool is_wide = byte_width(x.dtype()) / (is_complex(x.dtype()) ? 2 : 1) == 8;
  return sort(astype(x, is_wide ? DType::kComplex128 : DType::kComplex64), -1);
}

Array digitize(const Array& x, const Array& edges, bool right) {
  if (edges.rank() != 1) {
    invalid_argument(fmt::format("digitize: bins must be a vector, its shape is {}",
                                 shape_to_string(edges.shape())));
  }
  const int64_t count = edges.size();
  if (count == 0) return zeros(x.shape(), DType::kInt32);
  const Array rising = searchsorted(edges, x, !right);
  const Array turned = searchsorted(flip(edges), x, !right);
  const Array rises = greater_equal(take(edges, {-1}), take(edges, {0}));
  return where(rises, rising, count - turned);
}

namespace {

// The most elements that all others are compared with; otherwise they are searched for.
constexpr int64_t kMostCompared = 16;

Array equals_any(const Array& x, const Array& others) {
  Array found = equal(x, take(others, {0}));
  for (int64_t i = 1; i < others.size(); ++i) {
    found = logical_or(found, equal(x, take(others, {i})));
  }
  return found;
}

Array is_in_sorted(const Array& x, const Array& sorted) {
  const Array place = minimum(searchsorted(sorted, x), sorted.size() - 1);
  return equal(take(sorted, {place}), x);
}

}  // namespace

Array isin(const Array& x, const Array& tests, bool invert) {
  if (tests.size() == 0) return full(x.shape(), invert, DType::kBool);
  const ShapeDtype types[] = {x.type(), tests.type()};
  const DType dtype = promote_types(types).dtype;
  const Array wanted = astype(x, dtype), others = astype(ravel(tests), dtype);
  const Array found = others.size() <= kMostCompared ? equals_any(wanted, others)
                                                     : is_in_sorted(wanted, sort(others));
  return invert ? logical_not(found) : found;
}

// ---- running sums and products ----

Array nancumsum(const Array& x, std::optional<int64_t> axis, std::optional<DType> dtype) {
  return cumsum(nans_as(x, 0), axis, dtype);
}
Array nancumprod(const Array& x, std::optional<int64_t> axis, std::optional<DType> dtype) {
  return cumprod(nans_as(x, 1), axis, dtype);
}

Array cumulative_sum(const Array& x, const CumulativeOptions& options) {
  CumulativeOptions in_sums = options;
  // Unlike cumsum, uses the result dtype of sum, as the array API standard requires.
  if (!in_sums.dtype) in_sums.dtype = sum(zeros({0}, x.dtype())).dtype();
  return cumulative(cumsum, 0, x, in_sums, "cumulative_sum");
}
Array cumulative_prod(const Array& x, const CumulativeOptions& options) {
  return cumulative(cumprod, 1, x, options, "cumulative_prod");
}

// ---- neighbours ----

Array diff(const Array& x, const DiffOptions& options) {
  if (options.order < 0 || options.order > INT32_MAX) {
    invalid_argument(fmt::format("diff: n must lie in [0, 2147483647], got {}", options.order));
  }
  if (x.rank() == 0) invalid_argument("diff: needs at least one dimension, got a scalar");
  if (options.order == 0) return x;
  const int64_t axis = normalize_axis(options.axis, x.rank(), "diff");
  Shape edge(x.shape().begin(), x.shape().end());
  edge[axis] = 1;
  const auto at_edge = [&](const Array& extra) {
    return extra.rank() == 0 ? broadcast_to(extra, edge) : extra;
  };
  std::vector<Array> parts;
  if (options.prepend) parts.push_back(at_edge(*options.prepend));
  parts.push_back(x);
  if (options.append) parts.push_back(at_edge(*options.append));
  Array result = concatenate(parts, axis);
  const auto difference = result.dtype() == DType::kBool ? not_equal : subtract;
  for (int64_t left = std::min(options.order, result.shape()[axis]); left > 0; --left) {
    const Array behind = but_first(result, axis);
    result = difference(behind, but_last(result, axis));
  }
  return result;
}

std::vector<Array> gradient(const Array& f_in, ListOf<Array> spacings, const Axes& axes) {
  const Array f = promote_inexact(f_in, "gradient");
  normalize_axes(axes, f.rank(), "gradient");  // raises for axes out of range
  std::vector<int64_t> all(f.rank());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int64_t>& wanted = axes ? *axes : all;
  if (spacings.size() > 1 && spacings.size() != wanted.size()) {
    throw TypeError(fmt::format("gradient: takes 0, 1 or {} distances, got {}", wanted.size(),
                                spacings.size()));
  }
  std::vector<Array> slopes;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Array spacing = spacings.empty() ? Array(1.0) : spacings[spacings.size() == 1 ? 0 : i];
    slopes.push_back(gradient(f, spacing, wanted[i]));
  }
  return slopes;
}

Array ediff1d(const Array& x, const std::optional<Array>& to_end,
              const std::optional<Array>& to_begin) {
  const Array flat = ravel(x);
  const Array behind = but_first(flat, 0);
  std::vector<Array> parts;
  if (to_begin) parts.push_back(astype(ravel(*to_begin), flat.dtype()));
  parts.push_back(astype(behind - but_last(flat, 0), flat.dtype()));
  if (to_end) parts.push_back(astype(ravel(*to_end), flat.dtype()));
  return concatenate(parts);
}

Array trapezoid(const Array& y, const std::optional<Array>& x, const Array& dx, int64_t axis) {
  const Array values = moveaxis(promote_inexact(y, "trapezoid"), axis, -1);
  const auto steps_of = [](const Array& places) {
    if (places.rank() == 0) {
      invalid_argument("trapezoid: x must have a dimension, got a scalar");
    }
    const Array behind = but_first(places, last_axis(places));
    return behind - but_last(places, last_axis(places));
  };
  const Array steps = !x ? dx : steps_of(x->rank() == 1 ? *x : moveaxis(*x, axis, -1));
  const Array behind = but_first(values, last_axis(values));
  const Array area = steps * (behind + but_last(values, last_axis(values)));
  return 0.5 * sum(area, -1);
}

Array unwrap(const Array& p_in, const UnwrapOptions& options) {
  const auto* whole_period = std::get_if<int64_t>(&options.period);
  const int64_t axis = normalize_axis(options.axis, p_in.rank(), "unwrap");
  const bool stays_whole = is_integer(p_in.dtype()) && whole_period != nullptr;
  const Array p = stays_whole ? p_in : promote_inexact(p_in, "unwrap");
  const Array step = diff(p, {.axis = axis});
  const auto [period, half, lowest] = halved(options.period, stays_whole);
  Array inside = remainder(step + half, period) - half;
  if (!stays_whole || *whole_period % 2 == 0) {
    // A step up of exactly half a period stays a step up.
    inside = where(logical_and(equal(inside, lowest), greater(step, 0)), half, inside);
  }
  const Array limit = options.discont.value_or(half);
  const Array change = where(less(absolute(step), limit), 0, inside - step);
  PadWidths widths(p.rank());
  widths[axis].first = 1;
  return p + pad(astype(cumsum(change, axis), p.dtype()), widths, Array(0));
}

}  // namespace farcall::numpy
