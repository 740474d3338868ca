// Counts and histograms (namespace farcall::numpy).
//
// All raise Error (INVALID_ARGUMENT) naming the function if the operands do not fit.
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
  std::optional<Array> weights = {};  // the weight of each element; default 1
  int64_t minlength = 0;              // the minimal size of the result
  // The size of the result; larger numbers are ignored. Default: the largest element plus one,
  // which must then be known (else ConcretizationError).
  std::optional<int64_t> length = {};
};
// The number of occurrences of each number from 0 on in x, a vector of integers or bools (else
// TypeError). Negative numbers are counted as zeros. The result has the dtype of the weights, or is
// a default integer.
FARCALL_API Array bincount(const Array& x, const BincountOptions& options = {});

// The number of bins of equal width, or the edges.
using Bins = std::variant<int64_t, Array>;
// The first and the last edge; default: the minimum and the maximum value.
using BinRange = std::optional<std::pair<Array, Array>>;
FARCALL_API Array histogram_bin_edges(const Array& a, const Bins& bins = 10,
                                      const BinRange& range = {});

struct HistogramOptions {
  std::optional<Array> weights = {};  // the weight of each value; default 1
  bool density = false;               // divide by the sum of the counts and the bin size
};
struct Histogram {
  Array counts;
  std::vector<Array> edges;  // along each axis of counts
};
// The number of values in each bin, in the common float dtype of the values and the weights. A bin
// contains its lower edge but not its upper one; the last bin contains both. Values outside of the
// edges are not counted.
FARCALL_API Histogram histogram(const Array& a, const Bins& bins = 10, const BinRange& range = {},
                                const HistogramOptions& options = {});
// The number of points (rows of `sample`) in each box. `bins`, and `ranges` unless empty, have one
// entry for each axis.
FARCALL_API Histogram histogramdd(const Array& sample, std::span<const Bins> bins,
                                  std::span<const BinRange> ranges = {},
                                  const HistogramOptions& options = {});

}  // namespace farcall::numpy
