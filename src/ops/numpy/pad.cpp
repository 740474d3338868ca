// numpy's pad and roll.
#include <algorithm>
#include <functional>
#include <variant>

#include <fmt/format.h>

#include <farcall/ops/indexing.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_indexing.h>

#include "ops/internal/numpy.h"
#include "ops/internal/rules.h"

namespace farcall::numpy {
namespace {

void check_widths(const Array& x, const PadWidths& widths) {
  if (widths.size() != x.rank()) {
    invalid_argument(fmt::format("pad: {} has {} dimensions, got {} pad widths",
                                 x.type().to_string(), x.rank(), widths.size()));
  }
  for (const auto& [before, after] : widths) {
    if (before < 0 || after < 0) {
      invalid_argument(
          fmt::format("pad: widths must not be negative, got ({}, {})", before, after));
    }
  }
}

int64_t modulo(int64_t a, int64_t b) { return ((a % b) + b) % b; }

// The index of the element (of `size`) at a position; positions below 0 and from `size` on are
// padding.
using Source = int64_t (*)(int64_t place, int64_t size);

int64_t edge(int64_t place, int64_t size) { return std::clamp<int64_t>(place, 0, size - 1); }
int64_t wrap(int64_t place, int64_t size) { return modulo(place, size); }
int64_t symmetric(int64_t place, int64_t size) {
  const int64_t turn = modulo(place, 2 * size);
  return std::min(turn, 2 * size - 1 - turn);
}
int64_t reflect(int64_t place, int64_t size) {
  if (size == 1) return 0;
  const int64_t turn = modulo(place, 2 * size - 2);
  return std::min(turn, 2 * size - 2 - turn);
}

Source source_of(std::string_view mode) {
  constexpr std::pair<std::string_view, Source> kSources[] = {
      {"edge", edge}, {"reflect", reflect}, {"symmetric", symmetric}, {"wrap", wrap}};
  for (const auto& [name, source] : kSources) {
    if (name == mode) return source;
  }
  invalid_argument(
      fmt::format("pad: mode must be constant, edge, empty, linear_ramp, maximum, mean, "
                  "minimum, reflect, symmetric or wrap; got \"{}\"",
                  mode));
}

Array slice_along(const Array& x, int64_t axis, int64_t start, int64_t limit) {
  Shape starts(x.rank(), 0), limits(x.shape().begin(), x.shape().end());
  starts[axis] = start;
  limits[axis] = limit;
  return lax::slice(x, starts, limits);
}

// Concatenates along one axis. `before` and `behind` are converted to the dtype of x.
Array between(const Array& before, const Array& x, const Array& behind, int64_t axis) {
  const Array parts[] = {astype(before, x.dtype()), x, astype(behind, x.dtype())};
  return lax::concatenate(parts, axis);
}

Array repeated(const Array& part, int64_t axis, int64_t count) {
  Shape shape(part.shape().begin(), part.shape().end());
  shape[axis] = count;
  return broadcast_to(part, shape);
}

// `count` elements from `end` towards the elements at index `at`, which are excluded.
Array ramp(const Array& x, int64_t axis, int64_t at, const Array& end, int64_t count) {
  const Array edge = squeeze(slice_along(x, axis, at, at + 1), {axis});
  return linspace(end, edge, count, /*endpoint=*/false, x.dtype(), axis);
}

Array statistic_of(const Array& x, PadStatistic statistic, int64_t axis) {
  const Axes axes = {{axis}};
  switch (statistic) {
    case PadStatistic::kMaximum:
      return max(x, axes, /*keepdims=*/true);
    case PadStatistic::kMinimum:
      return min(x, axes, /*keepdims=*/true);
    default:
      return is_integer(x.dtype()) ? rint(mean(x, axes, /*keepdims=*/true))
                                   : mean(x, axes, /*keepdims=*/true);
  }
}

// Raise unless there is a pair for each dimension, and if a padded dimension is empty.
void check_pairs(const Array& x, const PadWidths& widths, size_t count, std::string_view what) {
  check_widths(x, widths);
  if (count == x.rank()) return;
  invalid_argument(fmt::format("pad: {} has {} dimensions, got {} pairs of {}",
                               x.type().to_string(), x.rank(), count, what));
}
void check_not_empty(const Array& x, size_t axis) {
  if (x.shape()[axis] > 0) return;
  invalid_argument(
      fmt::format("pad: dimension {} of {} is empty, so there are no elements to repeat", axis,
                  x.type().to_string()));
}

}  // namespace

Array pad(const Array& x, const PadWidths& widths, const Array& value) {
  check_widths(x, widths);
  PaddingConfig config;
  for (const auto& [before, after] : widths) config.push_back({before, after, 0});
  return lax::pad(x, convert(value, {x.dtype(), false}), config);
}

Array pad(const Array& x, const PadWidths& widths, const PadValues& values) {
  check_pairs(x, widths, values.size(), "values");
  Array result = x;
  for (size_t axis = 0; axis < widths.size(); ++axis) {
    PadWidths here(x.rank(), {0, 0});
    here[axis] = {widths[axis].first, 0};
    result = pad(result, here, values[axis].first);
    here[axis] = {0, widths[axis].second};
    result = pad(result, here, values[axis].second);
  }
  return result;
}

Array pad_ramp(const Array& x, const PadWidths& widths, const PadValues& ends) {
  check_pairs(x, widths, ends.size(), "ends");
  Array result = x;
  for (size_t i = 0; i < widths.size(); ++i) {
    const auto [before, after] = widths[i];
    if (before == 0 && after == 0) continue;
    check_not_empty(x, i);
    const auto axis = static_cast<int64_t>(i);
    const Array low = ramp(result, axis, 0, ends[i].first, before);
    const Array high = ramp(result, axis, x.shape()[i] - 1, ends[i].second, after);
    result = between(low, result, flip(high, axis), axis);
  }
  return result;
}

Array pad(const Array& x, const PadWidths& widths, PadStatistic statistic,
          const PadWidths& lengths) {
  check_pairs(x, widths, lengths.empty() ? x.rank() : lengths.size(), "lengths");
  Array result = x;
  for (size_t i = 0; i < widths.size(); ++i) {
    const auto [before, after] = widths[i];
    if (before == 0 && after == 0) continue;
    check_not_empty(x, i);
    const auto axis = static_cast<int64_t>(i);
    const int64_t size = x.shape()[i];
    const auto [first, last] = lengths.empty() ? std::pair(size, size) : lengths[i];
    if (first < 1 || last < 1) {
      invalid_argument(fmt::format("pad: lengths must be positive, got ({}, {})", first, last));
    }
    const Array low =
        statistic_of(slice_along(result, axis, 0, std::min(first, size)), statistic, axis);
    const Array high =
        statistic_of(slice_along(result, axis, size - std::min(last, size), size), statistic, axis);
    result = between(repeated(low, axis, before), result, repeated(high, axis, after), axis);
  }
  return result;
}

Array pad(const Array& x, const PadWidths& widths, std::string_view mode) {
  const Source source = source_of(mode);
  check_widths(x, widths);
  Array result = x;
  for (size_t axis = 0; axis < widths.size(); ++axis) {
    const auto [before, after] = widths[axis];
    if (before == 0 && after == 0) continue;
    const int64_t size = x.shape()[axis];
    check_not_empty(x, axis);
    int64_t count;
    if (__builtin_add_overflow(before, after, &count) ||
        __builtin_add_overflow(count, size, &count)) {
      invalid_argument(fmt::format("pad: dimension {} of the result is too large", axis));
    }
    std::vector<int32_t> sources;
    sources.reserve(static_cast<size_t>(count));
    for (int64_t place = -before; place < size + after; ++place) {
      sources.push_back(static_cast<int32_t>(source(place, size)));
    }
    result = take(result, Array::of(std::span<const int32_t>(sources), {&count, 1}),
                  static_cast<int64_t>(axis),
                  {.mode = "promise_in_bounds", .wrap_negative_indices = false});
  }
  return result;
}

namespace {

// A shift along one axis: known, or computed by the program.
using Shift = std::variant<int64_t, Array>;

std::vector<Shift> shifts_of(const Array& shift) {
  std::vector<Shift> shifts;
  if (shift.has_known_values()) {
    for (const int64_t by : integer_values(shift)) shifts.emplace_back(by);
  } else if (shift.rank() == 0) {
    shifts.emplace_back(shift);
  } else {
    for (int64_t i = 0; i < shift.size(); ++i) {
      const Index at[] = {i};
      shifts.emplace_back(take(shift, at));
    }
  }
  return shifts;
}

Array roll_one(const Array& x, const Shift& shift, int64_t axis) {
  const int64_t size = x.shape()[axis];
  if (size == 0) return x;
  if (const auto* known = std::get_if<int64_t>(&shift)) {
    const int64_t by = modulo(*known, size);
    if (by == 0) return x;
    const Array parts[] = {slice_along(x, axis, size - by, size),
                           slice_along(x, axis, 0, size - by)};
    return lax::concatenate(parts, axis);
  }
  const Array twice[] = {x, x};
  const Array start = remainder(negative(strengthen(std::get<Array>(shift))), size);
  std::vector<Array> starts(x.rank(), zeros({}, start.dtype()));
  starts[axis] = start;
  return lax::dynamic_slice(lax::concatenate(twice, axis), starts, x.shape(), false);
}

}  // namespace

Array roll(const Array& x, const Array& shift, const Axes& axes) {
  if (!is_integer(shift.dtype())) {
    throw TypeError(
        fmt::format("roll: the shift must be an integer, got {}", shift.type().to_string()));
  }
  if (!axes) {
    Array flat = ravel(x);
    for (const Shift& by : shifts_of(shift.rank() > 1 ? ravel(shift) : shift)) {
      flat = roll_one(flat, by, 0);
    }
    return reshape(flat, x.shape());
  }
  // A single shift applies to all axes, and all shifts apply to a single axis.
  const auto num_axes = static_cast<int64_t>(axes->size());
  const int64_t num_shifts = shift.rank() == 0 ? 1 : shift.size();
  if (shift.rank() > 1 || (num_shifts != num_axes && num_shifts != 1 && num_axes != 1)) {
    invalid_argument(fmt::format("roll: {} shifts for {} axes", num_shifts, num_axes));
  }
  const std::vector<Shift> shifts = shifts_of(shift);
  Array result = x;
  const int64_t count =
      num_shifts == 1 ? num_axes : num_shifts;  // 0 if there are no shifts or no axes
  for (int64_t i = 0; i < count; ++i) {
    const int64_t axis = normalize_axis((*axes)[num_axes == 1 ? 0 : i], x.rank(), "roll");
    result = roll_one(result, shifts[num_shifts == 1 ? 0 : i], axis);
  }
  return result;
}

}  // namespace farcall::numpy
