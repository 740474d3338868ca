// Indexing with arrays: reading and updating parts, taking along axes, padding and rolling
// (namespace farcall::numpy); see numpy.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/ops/numpy.h>
#include <farcall/primitives/indexing.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

struct IndexOptions {
  // Default: reads clamp indices out of range; updates drop them.
  std::optional<GatherScatterMode> mode = {};
  std::optional<Array> fill_value = {};  // a scalar with a known value; see gather
  bool unique_indices = false;
  bool indices_are_sorted = false;
  bool wrap_negative_indices = true;  // negative ones count from the end
};

// x[indices].
FARCALL_API Array get(const Array& x, ListOf<Index> indices, const IndexOptions& options = {});

// Returns x with x[indices] set to the values, or combined with them. Values are broadcast. They
// are combined in the common dtype, and the result has the dtype of x. If several indices name one
// element, it is combined with all their values; for kSet it is unspecified which value wins.
enum class Update { kSet, kAdd, kSubtract, kMultiply, kMin, kMax };
FARCALL_API Array update(const Array& x, ListOf<Index> indices, const Array& values, Update how,
                         const IndexOptions& options = {});

// `mode` says how the functions below treat indices out of range: "fill", "wrap" or "clip".
struct TakeOptions {
  std::string mode = "fill";
  std::optional<Array> fill_value = {};
  bool unique_indices = false;
  bool indices_are_sorted = false;
  bool wrap_negative_indices = true;
};
// Without an axis, of the flattened array.
FARCALL_API Array take(const Array& x, const Array& indices, std::optional<int64_t> axis,
                       const TakeOptions& options = {});
// Gathers along the axis: the index at each position selects the element; the other coordinates are
// those of the index.
FARCALL_API Array take_along_axis(const Array& x, const Array& indices, std::optional<int64_t> axis,
                                  const TakeOptions& options = {});
FARCALL_API Array put_along_axis(const Array& x, const Array& indices, const Array& values,
                                 std::optional<int64_t> axis,
                                 std::optional<GatherScatterMode> mode = {});

// For each dimension, the indices of the nonzero elements. The values of x must be known.
FARCALL_API std::vector<Array> nonzero(const Array& x);
// The first `size` such indices. If there are fewer, the rest is filled with `fill_values`, which
// has one for each dimension or is empty.
FARCALL_API std::vector<Array> nonzero(const Array& x, int64_t size,
                                       ListOf<Array> fill_values = {});

// Rolls the elements by each shift along its axis; elements beyond the end reappear at the
// beginning.
FARCALL_API Array roll(const Array& x, const Array& shift, const Axes& axes = {});

using PadWidths = std::vector<std::pair<int64_t, int64_t>>;  // (before, after) for each dimension
FARCALL_API Array pad(const Array& x, const PadWidths& widths, const Array& value);
using PadValues = std::vector<std::pair<Array, Array>>;  // (before, after) for each dimension
FARCALL_API Array pad(const Array& x, const PadWidths& widths, const PadValues& values);
// Linear ramps from the elements at the borders to the values `ends`.
FARCALL_API Array pad_ramp(const Array& x, const PadWidths& widths, const PadValues& ends);
// The maximum, mean or minimum along each dimension, of all elements or of the `lengths` elements
// at either end. Means of integers are rounded half to even.
enum class PadStatistic { kMaximum, kMean, kMinimum };
FARCALL_API Array pad(const Array& x, const PadWidths& widths, PadStatistic statistic,
                      const PadWidths& lengths = {});
// "edge", "reflect", "symmetric" or "wrap".
FARCALL_API Array pad(const Array& x, const PadWidths& widths, std::string_view mode);

}  // namespace farcall::numpy
