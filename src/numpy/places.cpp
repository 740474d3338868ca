#include <farcall/numpy/places.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/core/sizes.h>
#include <farcall/numpy/shapes.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/trace/origin.h>

#include "ops/internal/numpy.h"
#include "ops/internal/rules.h"

namespace farcall::numpy {
namespace {

// The places as an index array; int32 if `size` fits.
Array index_array(std::span<const int64_t> places, int64_t size) {
  const auto count = static_cast<int64_t>(places.size());
  if (size > std::numeric_limits<int32_t>::max()) return Array::of(places, {&count, 1});
  const std::vector<int32_t> narrow(places.begin(), places.end());
  return Array::of(std::span(narrow), {&count, 1});
}

// The indices 0, …, n - 1.
Array range(int64_t n) { return lax::iota(default_int(), {n}, 0); }

// The elements of a vector, repeated up to `count`.
Array repeated_to(const Array& values, int64_t count) {
  const int64_t length = values.shape()[0];
  if (length == count) return values;
  const Array enough = count > length ? tile(values, {(count + length - 1) / length}) : values;
  return take(enough, {Slice{.stop = count}});
}

// Raises ConcretizationError unless the values of x, on which `result` depends, are known.
void check_known(const Array& x, std::string_view function, std::string_view result,
                 std::string_view remedy) {
  if (x.has_known_values()) return;
  throw ConcretizationError(
      fmt::format("{}: {} depends on the values of a traced array: {}. To fix this, {}, or {}",
                  function, result, why_unknown(x), remedy, how_to_know(x)));
}

// Wraps or clamps the indices, or checks them.
Array moved_inside(const Array& index, int64_t size, Outside outside, std::string_view function) {
  switch (outside) {
    case Outside::kWrap:
      return remainder(index, size);
    case Outside::kClip:
      return clip(index, Array(0), Array(size - 1));
    default:
      check_known(index, function, "whether an index is in range", "pass a mode");
      for (const int64_t i : integer_values(index)) {
        if (i >= 0 && i < size) continue;
        invalid_argument(
            fmt::format("{}: index {} is out of range [0, {}); pass mode \"wrap\" or \"clip\" to "
                        "bring it into range",
                        function, i, size));
      }
      return index;
  }
}

// Converts numbers from -size to limit - 1 to nonnegative ones.
std::vector<int64_t> from_front(std::span<const int64_t> numbers, int64_t size, int64_t limit,
                                int64_t axis, std::string_view function) {
  std::vector<int64_t> result;
  for (const int64_t number : numbers) {
    if (number < -size || number >= limit) {
      throw Error(ErrorCode::kOutOfRange,
                  fmt::format("{}: index {} is out of range for dimension {} of size {}", function,
                              number, axis, size));
    }
    result.push_back(number < 0 ? number + size : number);
  }
  return result;
}

bool is_of_one_size(const Array& x) {
  return x.rank() >= 2 &&
         std::ranges::adjacent_find(x.shape(), std::not_equal_to<>()) == x.shape().end();
}

}  // namespace

// ---- selection by value ----

Array argwhere(const Array& x, const PlaceOptions& options) {
  std::vector<Array> fills = options.fill_values;
  if (fills.size() == 1) fills.resize(x.rank(), fills[0]);
  if (x.rank() == 0) {
    const int64_t count = options.size ? *options.size : flatnonzero(x).size();
    return zeros({count, 0}, default_int());
  }
  return stack(options.size ? nonzero(x, *options.size, fills) : nonzero(x), 1);
}

Array flatnonzero(const Array& x, const PlaceOptions& options) {
  const Array flat = ravel(x);
  return (options.size ? nonzero(flat, *options.size, options.fill_values) : nonzero(flat))[0];
}

Array compress(const Array& condition, const Array& x_in, std::optional<int64_t> axis_in,
               const CompressOptions& options) {
  if (condition.rank() != 1) {
    invalid_argument(fmt::format("compress: the condition must have one dimension, got {}",
                                 condition.type().to_string()));
  }
  const auto [x, axis] = along(x_in, axis_in, "compress");
  const int64_t length = x.shape()[axis];
  if (condition.size() > length) {
    const Array rest = any(take(condition, {Slice{.start = length}}));
    check_known(rest, "compress",
                fmt::format("whether the condition is true beyond entry {}", length),
                "pass a condition with at most that many entries");
    if (*static_cast<const bool*>(rest.data())) {
      invalid_argument(fmt::format("compress: the condition has {} entries, dimension {} has {}",
                                   condition.size(), axis, length));
    }
  }
  // Index `length` is out of bounds and selects the fill value.
  const Array places =
      flatnonzero(take(condition, {Slice{.stop = length}}), {options.size, {Array(length)}});
  return take(x, places, axis, {.fill_value = options.fill_value});
}

Array extract(const Array& condition, const Array& x, const CompressOptions& options) {
  return compress(ravel(condition), x, {}, options);
}

Distinct unique(const Array& x, int64_t size, const std::optional<Array>& fill_value,
                bool equal_nan) {
  if (size < 0) invalid_argument(fmt::format("unique: size must not be negative, got {}", size));
  const Array flat = ravel(x);
  const int64_t count = flat.size();
  if (count == 0) {
    const Array none = zeros({size}, DType::kInt32);
    return {full({size}, fill_value.value_or(Array(0)), x.dtype()), none,
            zeros(x.shape(), DType::kInt32), none};
  }
  const Array order = argsort(flat);
  const Array ordered = take(flat, order, 0);
  const Array before = take(ordered, {Slice{.stop = -1}}),
              after = take(ordered, {Slice{.start = 1}});
  Array differs = not_equal(after, before);
  if (equal_nan && is_inexact(x.dtype())) {
    differs = logical_and(differs, logical_not(logical_and(isnan(after), isnan(before))));
  }
  const Array is_first = concatenate({ones({1}, DType::kBool), differs});
  const Array places = flatnonzero(is_first, {checked_sum(size, 1), {Array(count)}});
  const Array starts = take(places, {Slice{.stop = -1}}), ends = take(places, {Slice{.start = 1}});
  const Array is_there = less(starts, count);
  const Array fill =
      fill_value ? astype(*fill_value, x.dtype()) : take(ordered, {Index(int64_t{0})});
  const TakeOptions inside = {.mode = "clip"};
  const Array index =
      where(is_there, take(order, starts, 0, inside), take(order, {Index(int64_t{0})}));
  const Array numbers = subtract(cumsum(astype(is_first, DType::kInt32)), 1);
  return {where(is_there, take(ordered, starts, 0, inside), fill), astype(index, DType::kInt32),
          reshape(take(numbers, argsort(order), 0), x.shape()), subtract(ends, starts)};
}

// ---- sets ----

namespace {

// The places where `is_member`, padded with the number of places.
Array member_places(const Array& is_member, int64_t size) {
  return flatnonzero(is_member, {size, {Array(is_member.size())}});
}

// The values at places from member_places.
Array members(const Array& values, const Array& places, const std::optional<Array>& fill_value) {
  if (values.size() == 0)
    return full(places.shape(), fill_value.value_or(Array(0)), values.dtype());
  const TakeOptions inside = {.mode = "clip"};
  const Array is_there = less(places, values.size());
  const Array found = take(values, places, 0, inside);
  // The default is the first member, or 0 if there is none.
  const auto first = [](const Array& x) { return take(x, {Slice{.stop = 1}}); };
  const Array fill = fill_value ? astype(*fill_value, values.dtype())
                                : where(first(is_there), first(found), zeros({}, values.dtype()));
  return where(is_there, found, fill);
}

Distinct all_distinct(const Array& x) { return unique(x, x.size()); }

}  // namespace

Array setdiff1d(const Array& x, const Array& y, const SetOptions& options) {
  const Array fill = options.fill_value.value_or(Array(0));
  if (options.assume_unique) {
    const Array flat = ravel(x);
    return members(flat, member_places(isin(flat, y, true), options.size), fill);
  }
  const Distinct found = all_distinct(x);
  const Array is_left = logical_and(greater(found.counts, 0), isin(found.values, y, true));
  return members(found.values, member_places(is_left, options.size), fill);
}

Array setxor1d(const Array& x, const Array& y, const SetOptions& options) {
  const Distinct found = all_distinct(concatenate({ravel(x), ravel(y)}));
  const Array is_common = logical_and(isin(found.values, x), isin(found.values, y));
  const Array is_one = logical_and(greater(found.counts, 0), logical_not(is_common));
  return members(found.values, member_places(is_one, options.size), options.fill_value);
}

Intersection intersect1d(const Array& x, const Array& y, const SetOptions& options) {
  const ShapeDtype types[] = {x.type(), y.type()};
  const DType dtype = promote_types(types).dtype;
  const Array a = astype(ravel(x), dtype), b = astype(ravel(y), dtype);
  const Distinct found = all_distinct(a);
  const Array is_common = logical_and(greater(found.counts, 0), isin(found.values, b));
  const Array places = member_places(is_common, options.size);
  const Array values = members(found.values, places, options.fill_value);
  const Array order = argsort(b), is_there = less(places, a.size());
  const auto padded = [&](const Array& index, const Array& at) {
    const Array size(index.size());
    if (index.size() == 0) return full(at.shape(), size, default_int());
    return astype(where(is_there, take(index, at, 0, {.mode = "fill", .fill_value = size}), size),
                  default_int());
  };
  return {values, padded(found.index, places),
          padded(order, searchsorted(take(b, order, 0), values))};
}

// ---- indices ----

std::vector<Array> diag_indices(int64_t n, int64_t ndim) {
  if (ndim < 0 || ndim > static_cast<int64_t>(kMaxRank)) {
    invalid_argument(fmt::format("diag_indices: ndim must lie in [0, {}], got {}", kMaxRank, ndim));
  }
  return std::vector<Array>(ndim, range(std::max<int64_t>(n, 0)));
}

std::vector<Array> diag_indices_from(const Array& x) {
  if (!is_of_one_size(x)) {
    invalid_argument(
        fmt::format("diag_indices_from: needs two or more dimensions of the same size, got {}",
                    x.type().to_string()));
  }
  return diag_indices(x.shape()[0], static_cast<int64_t>(x.rank()));
}

std::vector<Array> ix_(ListOf<Array> vectors) {
  std::vector<Array> result;
  for (size_t i = 0; i < vectors.size(); ++i) {
    const Array& vector = vectors[i];
    if (vector.rank() != 1) {
      invalid_argument(fmt::format("ix_: argument {} must have one dimension, got {}", i,
                                   vector.type().to_string()));
    }
    const Array places = vector.dtype() == DType::kBool ? nonzero(vector)[0] : vector;
    Shape shape(vectors.size(), 1);
    shape[i] = places.size();
    result.push_back(reshape(places, shape));
  }
  return result;
}

std::vector<Array> unravel_index(const Array& indices, ListOf<int64_t> shape) {
  if (!is_integer(indices.dtype())) {
    throw TypeError(fmt::format("unravel_index: the indices must be integers, got {}",
                                indices.type().to_string()));
  }
  int64_t total = 1;
  for (const int64_t size : shape) {
    if (size < 0) {
      invalid_argument(
          fmt::format("unravel_index: sizes must not be negative, got {}", shape_to_string(shape)));
    }
    total = checked_product(total, size);
  }
  Array rest = where(less(indices, 0), add(indices, total), indices);
  rest = clip(rest, Array(0), Array(std::max<int64_t>(total - 1, 0)));
  std::vector<Array> result(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    result[i] = remainder(rest, shape[i]);
    rest = floor_divide(rest, shape[i]);
  }
  return result;
}

Array ravel_multi_index(ListOf<Array> indices, ListOf<int64_t> shape,
                        const RavelIndexOptions& options) {
  constexpr std::string_view kName = "ravel_multi_index";
  if (indices.size() != shape.size()) {
    invalid_argument(
        fmt::format("{}: got {} indices for {} dimensions", kName, indices.size(), shape.size()));
  }
  const DType dtype = options.dtype.value_or(DType::kInt32);
  Array result = zeros({}, dtype);
  for (size_t k = 0; k < shape.size(); ++k) {
    const size_t i = options.first_fastest ? shape.size() - 1 - k : k;
    const Array index = moved_inside(indices[i], shape[i], options.outside, kName);
    result = add(multiply(result, shape[i]), astype(index, dtype));
  }
  return result;
}

// ---- choosing and replacing ----

Array choose(const Array& which, ListOf<Array> choices, Outside outside) {
  std::vector<Array> all = {which};
  all.insert(all.end(), choices.begin(), choices.end());
  all = broadcast_arrays(all);
  const auto count = static_cast<int64_t>(choices.size());
  if (count == 0) invalid_argument("choose: needs at least one choice");
  const Array index = moved_inside(all[0], count, outside, "choose");
  const Array values = stack(std::span<const Array>(all).subspan(1));
  return squeeze(take_along_axis(values, expand_dims(index, {0}), 0), {{0}});
}

Array fill_diagonal(const Array& x, const Array& values, bool wrap) {
  if (x.rank() != 2 && !is_of_one_size(x)) {
    invalid_argument(
        fmt::format("fill_diagonal: needs a matrix, or dimensions of the same size, got {}",
                    x.type().to_string()));
  }
  const int64_t columns = x.shape().back();
  int64_t step = 1, stride = 1;
  for (size_t i = x.rank(); --i > 0;) step += stride *= x.shape()[i];
  const int64_t size = x.size();
  const int64_t end = wrap || x.rank() > 2 ? size : std::min(size, columns * columns);
  if (end == 0) return x;
  if (values.size() == 0) invalid_argument("fill_diagonal: values must not be empty");
  const Array chosen = repeated_to(ravel(values), (end + step - 1) / step);
  const Index diagonal = Slice{.start = 0, .stop = end, .step = step};
  return reshape(update(ravel(x), {diagonal}, chosen, Update::kSet), x.shape());
}

Array place(const Array& x, const Array& mask, const Array& values) {
  if (mask.size() != x.size()) {
    invalid_argument(
        fmt::format("place: the mask must have as many elements as the array, got {} for {}",
                    mask.type().to_string(), x.type().to_string()));
  }
  if (x.size() == 0) return x;
  if (values.size() == 0) invalid_argument("place: values must not be empty");
  const Array holds = ravel(as_bool(mask));
  const Array turn = subtract(cumsum(astype(holds, DType::kInt32), 0), 1);
  const Array flat = ravel(values);
  const Array chosen = take(flat, remainder(turn, flat.size()), 0);
  return reshape(where(holds, astype(chosen, x.dtype()), ravel(x)), x.shape());
}

Array put(const Array& x, const Array& places_in, const Array& values,
          std::optional<Outside> outside) {
  Array places = ravel(places_in);
  if (places.size() == 0 || values.size() == 0) return x;
  if (!outside && x.size() == 0) return x;
  if (x.size() == 0) {
    throw Error(ErrorCode::kOutOfRange,
                fmt::format("put: {} has no elements to replace", x.type().to_string()));
  }
  if (!outside) places = where(less(places, 0), add(places, x.size()), places);
  places = moved_inside(places, x.size(), outside.value_or(Outside::kClip), "put");
  const Array chosen = repeated_to(ravel(values), places.size());
  const Array flat =
      update(ravel(x), {places}, chosen, Update::kSet, {.mode = GatherScatterMode::kFillOrDrop});
  return reshape(flat, x.shape());
}

// ---- more or fewer elements ----

Array delete_(const Array& x_in, ListOf<int64_t> slices, std::optional<int64_t> axis_in) {
  const auto [x, axis] = along(x_in, axis_in, "delete");
  const int64_t size = x.shape()[axis];
  std::vector<bool> stays(size, true);
  for (const int64_t i : from_front(slices, size, size, axis, "delete")) stays[i] = false;
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < size; ++i) {
    if (stays[i]) kept.push_back(i);
  }
  return take(x, index_array(kept, size), axis);
}

Array insert(const Array& x_in, ListOf<int64_t> before_in, const Array& values,
             std::optional<int64_t> axis_in) {
  const auto [x, axis] = along(x_in, axis_in, "insert");
  const int64_t size = x.shape()[axis];
  const std::vector<int64_t> before =
      from_front(before_in, size, checked_sum(size, 1), axis, "insert");
  const auto count = static_cast<int64_t>(before.size());
  Shape shape(x.shape().begin(), x.shape().end());
  shape[axis] = count;
  const Array block = with_error_prefix("insert: values", [&, dtype = x.dtype()] {
    return astype(broadcast_to(values, shape), dtype);
  });
  // Values for the same index keep their order.
  std::vector<int64_t> order(before.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int64_t i) { return before[i]; });
  std::vector<int64_t> source;
  source.reserve(memory_sum(size, count));
  size_t next = 0;
  for (int64_t i = 0; i <= size; ++i) {
    for (; next < order.size() && before[order[next]] == i; ++next)
      source.push_back(size + order[next]);
    if (i < size) source.push_back(i);
  }
  return take(concatenate({x, block}, axis), index_array(source, size + count), axis);
}

Array insert_block(const Array& x_in, int64_t before, const Array& values_in,
                   std::optional<int64_t> axis_in) {
  const auto [x, axis] = along(x_in, axis_in, "insert");
  // The first dimension of the values is the one along the axis; missing dimensions are added
  // before it.
  Shape shape(x.rank() - std::min(values_in.rank(), x.rank()), 1);
  shape.insert(shape.end(), values_in.shape().begin(), values_in.shape().end());
  if (shape.size() > x.rank()) {
    invalid_argument(fmt::format("insert: the values {} have more dimensions than {}",
                                 values_in.type().to_string(), x.type().to_string()));
  }
  const Array values = moveaxis(reshape(values_in, shape), 0, axis);
  const int64_t count = values.shape()[axis];
  return insert(x, std::vector<int64_t>(count, before), values, axis);
}

Array resize(const Array& x, ListOf<int64_t> shape) {
  int64_t size = 1;
  for (const int64_t each : shape) {
    if (each < 0) {
      invalid_argument(
          fmt::format("resize: sizes must not be negative, got {}", shape_to_string(shape)));
    }
    size = checked_product(size, each);
  }
  if (x.size() == 0 || size == 0) return zeros(shape, x.dtype());
  return reshape(repeated_to(ravel(x), size), shape);
}

Array repeat(const Array& x_in, const Array& counts, std::optional<int64_t> axis_in,
             std::optional<int64_t> total) {
  const auto [x, axis] = along(x_in, axis_in, "repeat");
  const int64_t size = x.shape()[axis];
  if (!is_integer(counts.dtype()) && counts.size() > 0) {
    throw TypeError(
        fmt::format("repeat: repeats must be integers, got {}", counts.type().to_string()));
  }
  if (counts.rank() > 1 || (counts.size() != 1 && counts.size() != size)) {
    invalid_argument(
        fmt::format("repeat: repeats must be one number or one for each of {} slices, got {}", size,
                    counts.type().to_string()));
  }
  if (total && *total < 0) {
    invalid_argument(fmt::format("repeat: the total length must not be negative, got {}", *total));
  }
  if (total && *total > 0 && size == 0) {
    invalid_argument(
        fmt::format("repeat: dimension {} of {} is empty, so total_repeat_length must be 0", axis,
                    x.type().to_string()));
  }
  if (!counts.has_known_values() && total) {
    const Array ends = cumsum(broadcast_to(ravel(counts), {size}));
    const Array passed = sum(less_equal(astype(ends, DType::kInt32),
                                        expand_dims(lax::iota(DType::kInt32, {*total}, 0), {1})),
                             {{-1}});
    return take(x, minimum(passed, size - 1), axis);
  }
  check_known(counts, "repeat", "the length of the result, the sum of the repeats,",
              "pass total_repeat_length=");
  std::vector<int64_t> times = integer_values(counts);
  if (times.size() == 1 && !total) return repeat(x, times[0], axis);
  if (times.size() == 1) times.resize(size, times[0]);
  int64_t length = 0;
  for (const int64_t count : times) {
    if (count < 0) {
      invalid_argument(fmt::format("repeat: repeats must not be negative, got {}", count));
    }
    length = checked_sum(length, count);
  }
  const int64_t wanted = total.value_or(length);
  std::vector<int64_t> source;
  source.reserve(wanted);
  for (int64_t i = 0; i < size; ++i) {
    const int64_t left = wanted - static_cast<int64_t>(source.size());
    source.insert(source.end(), std::min(times[i], left), i);
  }
  source.resize(wanted, size - 1);
  return take(x, index_array(source, size), axis);
}

}  // namespace farcall::numpy
