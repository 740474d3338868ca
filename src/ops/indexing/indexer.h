// Indexer: translates a tuple of indices, some of which may be arrays, into a gather or scatter.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <farcall/ops/numpy.h>
#include <farcall/primitives/indexing.h>

namespace farcall::numpy {

[[noreturn]] void index_error(ErrorCode code, const Array& x, const std::string& what);

// A slice of a dimension of this size: its first element, the number of elements, and the step. The
// slice's step must not be 0.
struct SliceRange {
  int64_t start, count, step;
};
SliceRange resolve_slice(const Slice& slice, int64_t size);

// Expands indices: an ellipsis and missing indices become whole slices, masks become arrays of
// integers. Raises if the indices do not fit `x`.
struct IndexItem {
  Index index;
  std::optional<size_t> dim;  // null: it indexes no dimension
};
std::vector<IndexItem> expand_indices(const Array& x, std::span<const Index> indices);

struct Indexer {
  GatherDimensionNumbers numbers;
  Shape slice_sizes;
  Array indices;
  Shape windows_shape;  // shape of gather's result
  Shape shape;          // the same with new axes
  bool is_single;       // there is only one window
};
Indexer make_indexer(const Array& x, std::span<const IndexItem> items, bool wrap_negative);

}  // namespace farcall::numpy
