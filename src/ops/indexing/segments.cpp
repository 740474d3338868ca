#include <farcall/ops/segments.h>

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/trace/origin.h>

#include "ops/internal/rules.h"

namespace farcall::ops {
namespace {

using numpy::Update;

[[noreturn]] void refuse_segments(std::string_view function, std::string text) {
  invalid_argument(fmt::format("{}: {}", function, text));
}

void check_segments(std::string_view f, const Array& data, const Array& ids,
                    const SegmentOptions& options) {
  if (!is_integer(ids.dtype())) {
    throw TypeError(
        fmt::format("{}: segment_ids must be integers, got {}", f, ids.type().to_string()));
  }
  if (data.rank() == 0) refuse_segments(f, "data must have a first dimension, got a scalar");
  if (ids.rank() != 1 || ids.size() != data.shape()[0]) {
    refuse_segments(
        f, fmt::format("segment_ids must be a vector with an id for each of the {} rows of "
                       "data, got {}",
                       data.shape()[0], ids.type().to_string()));
  }
  if (options.num_segments && *options.num_segments < 0) {
    refuse_segments(
        f, fmt::format("num_segments must not be negative, got {}", *options.num_segments));
  }
  if (options.bucket_size && *options.bucket_size < 1) {
    refuse_segments(f, fmt::format("bucket_size must be positive, got {}", *options.bucket_size));
  }
}

int64_t count_segments(std::string_view f, const Array& ids, const SegmentOptions& options) {
  if (options.num_segments) return *options.num_segments;
  if (!ids.has_known_values()) {
    throw ConcretizationError(
        fmt::format("{}: the number of segments depends on the values of segment_ids, a traced "
                    "array: {}. To fix this, pass num_segments=, or {}",
                    f, why_unknown(ids), how_to_know(ids)));
  }
  const std::vector<int64_t> values = integer_values(ids);
  return values.empty() ? 0 : std::max<int64_t>(0, *std::ranges::max_element(values) + 1);
}

// The value of a segment without rows.
Array empty_segment(Update how, DType dtype) {
  const Array nothing = numpy::zeros({0}, dtype);
  switch (how) {
    case Update::kMultiply:
      return numpy::astype(Array(1), dtype);
    case Update::kMax:
      return lax::reduce_max(nothing, {0});
    case Update::kMin:
      return lax::reduce_min(nothing, {0});
    default:
      return numpy::astype(Array(0), dtype);
  }
}

Array reduce_first(Update how, const Array& x) {
  switch (how) {
    case Update::kMultiply:
      return lax::reduce_prod(x, {0});
    case Update::kMax:
      return lax::reduce_max(x, {0});
    case Update::kMin:
      return lax::reduce_min(x, {0});
    default:
      return lax::reduce_sum(x, {0});
  }
}

Array reduce_segments(std::string_view f, Update how, const Array& data, const Array& segment_ids,
                      const SegmentOptions& options) {
  check_segments(f, data, segment_ids, options);
  const int64_t segments = count_segments(f, segment_ids, options);
  const int64_t rows = data.shape()[0];
  numpy::IndexOptions places;
  places.mode = options.mode;
  places.unique_indices = options.unique_indices;
  places.indices_are_sorted = options.indices_are_sorted;
  places.wrap_negative_indices = false;

  Shape shape = to_shape(data.shape());
  shape[0] = segments;
  const int64_t size = options.bucket_size.value_or(std::max<int64_t>(rows, 1));
  const int64_t buckets = rows == 0 ? 1 : (rows - 1) / size + 1;
  if (buckets == 1) {
    const Array start = numpy::full(shape, empty_segment(how, data.dtype()));
    return numpy::update(start, {segment_ids}, data, how, places);
  }
  // Reduces each bucket of rows separately, then combines the buckets.
  shape.insert(shape.begin(), buckets);
  const Array start = numpy::full(shape, empty_segment(how, data.dtype()));
  const Array group = numpy::astype(
      numpy::floor_divide(numpy::arange(0, static_cast<double>(rows)), Array(size)), DType::kInt32);
  places.unique_indices = places.indices_are_sorted = false;
  return reduce_first(how, numpy::update(start, {group, segment_ids}, data, how, places));
}

}  // namespace

Array segment_sum(const Array& data, const Array& segment_ids, const SegmentOptions& options) {
  return reduce_segments("segment_sum", Update::kAdd, data, segment_ids, options);
}
Array segment_prod(const Array& data, const Array& segment_ids, const SegmentOptions& options) {
  return reduce_segments("segment_prod", Update::kMultiply, data, segment_ids, options);
}
Array segment_max(const Array& data, const Array& segment_ids, const SegmentOptions& options) {
  return reduce_segments("segment_max", Update::kMax, data, segment_ids, options);
}
Array segment_min(const Array& data, const Array& segment_ids, const SegmentOptions& options) {
  return reduce_segments("segment_min", Update::kMin, data, segment_ids, options);
}

}  // namespace farcall::ops
