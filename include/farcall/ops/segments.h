// Segment reductions of the rows of an array (namespace farcall::ops): row i belongs to segment
// segment_ids[i].
#pragma once

#include <cstdint>
#include <optional>

#include <farcall/core/export.h>
#include <farcall/primitives/indexing.h>
#include <farcall/trace/array.h>

namespace farcall::ops {

struct SegmentOptions {
  // The size of the result. Default: the greatest id plus one; the ids must then be known.
  std::optional<int64_t> num_segments = {};
  bool indices_are_sorted = false;
  bool unique_indices = false;
  // Rows are reduced in groups of this size, then the groups, which reduces rounding errors.
  std::optional<int64_t> bucket_size = {};
  // By default, rows with an id outside of [0, num_segments) are dropped.
  GatherScatterMode mode = GatherScatterMode::kFillOrDrop;
};

// The result has the shape [num_segments, …], where … are the dimensions of the data except the
// first. An empty segment is 0 for the sum, 1 for the product, the least number of the dtype for
// the maximum and the greatest for the minimum (infinities for floats). Raise TypeError if the ids
// are not integers, and INVALID_ARGUMENT if the data is a scalar, if the ids are not a vector of
// the length of the data, or if num_segments is negative.
FARCALL_API Array segment_sum(const Array& data, const Array& segment_ids,
                              const SegmentOptions& options = {});
FARCALL_API Array segment_prod(const Array& data, const Array& segment_ids,
                               const SegmentOptions& options = {});
FARCALL_API Array segment_max(const Array& data, const Array& segment_ids,
                              const SegmentOptions& options = {});
FARCALL_API Array segment_min(const Array& data, const Array& segment_ids,
                              const SegmentOptions& options = {});

}  // namespace farcall::ops
