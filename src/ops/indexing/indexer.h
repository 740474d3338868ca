// Indexer: what a tuple of indices, some of them arrays, asks of an array, in the terms of gather
// and scatter.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <farcall/ops/numpy.h>
#include <farcall/primitives/indexing.h>

namespace farcall::numpy {

[[noreturn]] void index_error(ErrorCode code, const Array& x, const std::string& what);

// A slice, its step not 0, of a dimension of this size: its first element, their number and the
// step between them.
struct SliceRange {
  int64_t start, count, step;
};
SliceRange resolve_slice(const Slice& slice, int64_t size);

// One index for each dimension that is indexed, none of them an ellipsis; the rest of the
// dimensions as whole slices. Arrays of bools have become arrays of integers.
struct IndexItem {
  Index index;
  std::optional<size_t> dim;  // none: it indexes no dimension
};
std::vector<IndexItem> expand_indices(const Array& x, std::span<const Index> indices);

struct Indexer {
  GatherDimensionNumbers numbers;
  Shape slice_sizes;
  Array indices;
  Shape windows_shape;  // what gather gives
  Shape shape;          // the same with new axes
  bool is_single;       // one window, so that no two can overlap
};
Indexer make_indexer(const Array& x, std::span<const IndexItem> items, bool wrap_negative);

}  // namespace farcall::numpy
