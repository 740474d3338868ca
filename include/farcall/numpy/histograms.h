// Counts and histograms (namespace farcall::numpy).
//
// All raise Error (INVALID_ARGUMENT) naming the function for operands that do not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

struct BincountOptions {
  std::optional<Array> weights = {};  // what each element counts, 1 if left out
  int64_t minlength = 0;              // the least size of the result
  // The size of the result, larger numbers being left out; else one more than the largest element,
  // which must then be known (ConcretizationError).
  std::optional<int64_t> length = {};
};
// How often each number from 0 on is among the elements of x, integers in one dimension
// (TypeError); negative ones count as 0.
FARCALL_API Array bincount(const Array& x, const BincountOptions& options = {});

// How many bins of equal width, or their edges.
using Bins = std::variant<int64_t, Array>;
// The first and the last edge; left out, the least and the largest value.
using BinRange = std::optional<std::pair<Array, Array>>;
FARCALL_API Array histogram_bin_edges(const Array& a, const Bins& bins = 10,
                                      const BinRange& range = {});

struct HistogramOptions {
  std::optional<Array> weights = {};  // what each value counts, 1 if left out
  bool density = false;               // divides by the number of values and the size of the bins
};
struct Histogram {
  Array counts;
  std::vector<Array> edges;  // along each axis of counts
};
// How many values lie in each bin, which has its lower edge but not its upper one; the last one has
// both.
FARCALL_API Histogram histogram(const Array& a, const Bins& bins = 10, const BinRange& range = {},
                                const HistogramOptions& options = {});
// How many points, one in each row of `sample`, lie in each box; bins and ranges, if there are any,
// for each axis.
FARCALL_API Histogram histogramdd(const Array& sample, std::span<const Bins> bins,
                                  std::span<const BinRange> ranges = {},
                                  const HistogramOptions& options = {});

}  // namespace farcall::numpy
