// numpy's ranges: arange, linspace, logspace, geomspace.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>

#include "ops/internal/numpy.h"
#include "ops/internal/rules.h"

namespace farcall::numpy {
namespace {

// Both ends in the dtype of the computation and in one shape, and the dtype of the result.
struct Ends {
  Array first, last;
  DType result;
};

DType common_inexact(const Array& start, const Array& stop) {
  const ShapeDtype types[] = {start.type(), stop.type()};
  return promote_to_inexact(types).dtype;
}

Ends ends_in(DType compute, const Array& start, const Array& stop, DType result) {
  const Array first = convert(start, {compute, false}), last = convert(stop, {compute, false});
  const std::span<const int64_t> shapes[] = {first.shape(), last.shape()};
  const Shape shape = broadcast_shapes(shapes);
  return {broadcast_to(first, shape), broadcast_to(last, shape), result};
}

Ends linear_ends(const Array& start, const Array& stop, std::optional<DType> dtype) {
  const DType common = common_inexact(start, stop);
  DType compute = dtype.value_or(common);
  if (!is_inexact(compute)) compute = DType::kFloat64;
  if (is_complex(common) && !is_complex(compute)) compute = common;
  if (is_floating(compute) && dtype_info(compute).bits < 32) compute = DType::kFloat32;
  return ends_in(compute, start, stop, dtype.value_or(common));
}

Ends wide_ends(const Array& start, const Array& stop, std::optional<DType> dtype) {
  const DType common = common_inexact(start, stop);
  const DType compute = is_complex(common) ? DType::kComplex128 : DType::kFloat64;
  return ends_in(compute, start, stop, dtype.value_or(common));
}

int64_t count_intervals(int64_t num, bool endpoint, std::string_view function) {
  if (num < 0) {
    invalid_argument(fmt::format("{}: num must not be negative, got {}", function, num));
  }
  return endpoint ? num - 1 : num;
}

// The number of values that are not at an end.
int64_t num_between(int64_t num, bool endpoint) {
  return std::max<int64_t>(endpoint ? num - 2 : num - 1, 0);
}

// The ends, and the values between them, along dimension 0. There is at least one value.
Array with_ends(const Array& between, const Ends& ends, int64_t num, bool endpoint) {
  const int64_t zero = 0;
  Array first = lax::expand_dims(ends.first, {&zero, 1});
  if (num == 1) return first;
  if (!endpoint) return lax::concatenate(std::array{first, between}, 0);
  const Array last = lax::expand_dims(ends.last, {&zero, 1});
  return lax::concatenate(std::array{first, between, last}, 0);
}

// Evenly spaced values along dimension 0, in the dtype of the computation.
Array evenly_spaced(const Ends& ends, int64_t num, int64_t intervals, bool endpoint) {
  const DType dtype = ends.first.dtype();
  const DType real = real_dtype(dtype);
  Shape shape(ends.first.rank() + 1, 1);
  shape[0] = num_between(num, endpoint);
  const Array count = scalar_of(real, static_cast<double>(std::max<int64_t>(intervals, 1)));
  const bool is_short = num <= std::numeric_limits<int32_t>::max();
  const DType integer = is_short ? DType::kInt32 : DType::kInt64;
  const Array places = lax::add(lax::iota(integer, shape, 0), scalar_of(integer, 1));
  const Array part = lax::div(lax::convert_element_type(places, real), count);
  const Array rest = lax::sub(scalar_of(real, 1), part);
  const auto times = [&](const Array& factor, const Array& end) {
    return multiply(lax::convert_element_type(factor, dtype), end);
  };
  const Array between = lax::add(times(rest, ends.first), times(part, ends.last));
  return num == 0 ? between : with_ends(between, ends, num, endpoint);
}

// Moves dimension 0 to `axis` and converts to the result dtype; integers are rounded toward minus
// infinity.
Array in_place(const Array& values, DType result, int64_t axis, std::string_view function) {
  const Array at = moveaxis(values, 0, normalize_axis(axis, values.rank(), function));
  return astype(is_integer(result) ? lax::floor(at) : at, result);
}

}  // namespace

Array arange(double start, double stop, double step, DType dtype) {
  const double count = std::ceil((stop - start) / step);
  if (step == 0 || !std::isfinite(count) || count > 9e15) {
    invalid_argument(
        fmt::format("arange: step must be nonzero and the bounds finite, got start {}, stop {}, "
                    "step {}",
                    start, stop, step));
  }
  const int64_t size = count > 0 ? static_cast<int64_t>(count) : 0;
  // Integers are computed in their dtype, floats in float64.
  const DType compute = is_inexact(dtype) ? DType::kFloat64 : dtype;
  Array result = lax::iota(is_inexact(dtype) ? DType::kInt64 : dtype, std::span(&size, 1), 0);
  result = lax::convert_element_type(result, compute);
  const auto number = [&](double value) {
    return is_integer(compute) ? astype(Array(static_cast<int64_t>(value)), compute)
                               : convert(Array(value), {compute, false});
  };
  if (step != 1) result = lax::mul(result, number(step));
  if (start != 0) result = lax::add(result, number(start));
  return lax::convert_element_type(result, dtype);
}

Array linspace(const Array& start, const Array& stop, int64_t num, bool endpoint,
               std::optional<DType> dtype, int64_t axis) {
  const int64_t intervals = count_intervals(num, endpoint, "linspace");
  return with_error_prefix("linspace", [&] {
    const Ends ends = linear_ends(start, stop, dtype);
    return in_place(evenly_spaced(ends, num, intervals, endpoint), ends.result, axis, "linspace");
  });
}

Array linspace_step(const Array& start, const Array& stop, int64_t num, bool endpoint,
                    std::optional<DType> dtype) {
  const int64_t intervals = count_intervals(num, endpoint, "linspace");
  const Ends ends = linear_ends(start, stop, dtype);
  const double count =
      intervals > 0 ? static_cast<double>(intervals) : std::numeric_limits<double>::quiet_NaN();
  return lax::div(lax::sub(ends.last, ends.first), scalar_of(ends.first.dtype(), count));
}

Array logspace(const Array& start, const Array& stop, int64_t num, bool endpoint, const Array& base,
               std::optional<DType> dtype, int64_t axis) {
  const int64_t intervals = count_intervals(num, endpoint, "logspace");
  return with_error_prefix("logspace", [&] {
    const Ends ends = wide_ends(start, stop, dtype);
    const Array powers = evenly_spaced(ends, num, intervals, endpoint);
    const DType compute = is_complex(base.dtype()) ? DType::kComplex128 : powers.dtype();
    const Array values = power(convert(base, {compute, false}), powers);
    return in_place(values, ends.result, axis, "logspace");
  });
}

Array geomspace(const Array& start, const Array& stop, int64_t num, bool endpoint,
                std::optional<DType> dtype, int64_t axis) {
  const int64_t intervals = count_intervals(num, endpoint, "geomspace");
  return with_error_prefix("geomspace", [&] {
    const Ends ends = wide_ends(start, stop, dtype);
    const DType compute = ends.first.dtype();
    const Array sign = lax::sign(ends.first);
    const Ends logarithms = {log10(lax::div(ends.first, sign)), log10(lax::div(ends.last, sign)),
                             compute};
    const Array powers = evenly_spaced(logarithms, num, intervals, endpoint);
    const Array values = multiply(power(convert(Array(10.0), {compute, false}), powers), sign);
    if (num == 0) return in_place(values, ends.result, axis, "geomspace");
    const Array between = rows(values, 1, 1 + num_between(num, endpoint));
    return in_place(with_ends(between, ends, num, endpoint), ends.result, axis, "geomspace");
  });
}

}  // namespace farcall::numpy
