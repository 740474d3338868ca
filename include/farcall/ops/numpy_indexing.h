// Indexing with arrays: reading and updating parts, taking along axes, padding and rolling. More of
// farcall::numpy; see numpy.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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
  // Nothing: reading moves indices inside, updating drops those outside.
  std::optional<GatherScatterMode> mode = {};
  std::optional<Array> fill_value = {};  // a known scalar; see gather
  bool unique_indices = false;
  bool indices_are_sorted = false;
  bool wrap_negative_indices = true;  // negative ones count from the end
};

// x[indices].
FARCALL_API Array get(const Array& x, ListOf<Index> indices, const IndexOptions& options = {});

// x with x[indices] replaced by the values, or combined with them. Values are broadcast and take
// the dtype of x. An element that several indices name is combined with the values of all; which
// one replaces it is not said.
enum class Update { kSet, kAdd, kMultiply, kMin, kMax };
FARCALL_API Array update(const Array& x, ListOf<Index> indices, const Array& values, Update how,
                         const IndexOptions& options = {});

// How the functions below treat indices outside: "fill", "wrap" or "clip".
struct TakeOptions {
  std::string mode = "fill";
  std::optional<Array> fill_value = {};
  bool unique_indices = false;
  bool indices_are_sorted = false;
  bool wrap_negative_indices = true;
};
// Of the flattened array without an axis.
FARCALL_API Array take(const Array& x, const Array& indices, std::optional<int64_t> axis,
                       const TakeOptions& options = {});
// The element of each index along the axis, at the place of the index in the other dimensions.
FARCALL_API Array take_along_axis(const Array& x, const Array& indices, std::optional<int64_t> axis,
                                  const TakeOptions& options = {});
FARCALL_API Array put_along_axis(const Array& x, const Array& indices, const Array& values,
                                 std::optional<int64_t> axis,
                                 std::optional<GatherScatterMode> mode = {});

// For each dimension, where x is not zero. The values must be known.
FARCALL_API std::vector<Array> nonzero(const Array& x);
// The first `size` places; `fill_values`, one for each dimension or none, where there are fewer.
FARCALL_API std::vector<Array> nonzero(const Array& x, int64_t size,
                                       ListOf<Array> fill_values = {});

// Elements moved by each shift along its axis, those that leave coming back at the other end.
FARCALL_API Array roll(const Array& x, const Array& shift, const Axes& axes = {});

using PadWidths = std::vector<std::pair<int64_t, int64_t>>;  // before and after, by dimension
FARCALL_API Array pad(const Array& x, const PadWidths& widths, const Array& value);
using PadValues = std::vector<std::pair<Array, Array>>;  // before and after, by dimension
FARCALL_API Array pad(const Array& x, const PadWidths& widths, const PadValues& values);
// In even steps from these values to the elements at the ends.
FARCALL_API Array pad_ramp(const Array& x, const PadWidths& widths, const PadValues& ends);
// The maximum, mean or minimum along each dimension: of all elements, or of so many at either end.
// Means of integers are rounded to even.
enum class PadStatistic { kMaximum, kMean, kMinimum };
FARCALL_API Array pad(const Array& x, const PadWidths& widths, PadStatistic statistic,
                      const PadWidths& lengths = {});
// "edge", "reflect", "symmetric" or "wrap".
FARCALL_API Array pad(const Array& x, const PadWidths& widths, std::string_view mode);

}  // namespace farcall::numpy
