// Reductions of the rows of an array by segments (namespace farcall::ops): row i counts for segment
// segment_ids[i].
#pragma once

#include <cstdint>
#include <optional>

#include <farcall/core/export.h>
#include <farcall/primitives/indexing.h>
#include <farcall/trace/array.h>

namespace farcall::ops {

struct SegmentOptions {
  // The size of the result. Left out: one more than the greatest id, which must then be known.
  std::optional<int64_t> num_segments = {};
  bool indices_are_sorted = false;
  bool unique_indices = false;
  // Rows are reduced in groups of so many and then the groups, which keeps rounding errors down.
  std::optional<int64_t> bucket_size = {};
  // Rows with an id outside of [0, num_segments) are left out, unless told otherwise.
  GatherScatterMode mode = GatherScatterMode::kFillOrDrop;
};

// The result has the shape [num_segments, …], with the dimensions of the data but the first. A
// segment without rows is 0 for the sum, 1 for the product, and for the others the least and the
// greatest number of the dtype (an infinity for floats). Raise TypeError for ids that are no
// integers, INVALID_ARGUMENT for a scalar, ids that are no vector of the length of the data, and
// negative numbers of segments.
FARCALL_API Array segment_sum(const Array& data, const Array& segment_ids,
                              const SegmentOptions& options = {});
FARCALL_API Array segment_prod(const Array& data, const Array& segment_ids,
                               const SegmentOptions& options = {});
FARCALL_API Array segment_max(const Array& data, const Array& segment_ids,
                              const SegmentOptions& options = {});
FARCALL_API Array segment_min(const Array& data, const Array& segment_ids,
                              const SegmentOptions& options = {});

}  // namespace farcall::ops
