// Means and deviations with all of numpy's options (namespace farcall::numpy); see numpy.h for
// common rules.
//
// Narrow floats are summed in float32; only the result is narrow.
#pragma once

#include <optional>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

struct MeanOptions {
  bool keepdims = false;
  // The dtype of the computation and of the result. Default: that of x, or float32 for integers.
  std::optional<DType> dtype = {};
  // Which elements to include: bools that broadcast to the shape of x.
  std::optional<Array> where = {};
};

struct VarOptions : MeanOptions {
  double ddof = 0;  // less than the number of elements
  // The mean, if it is known already; the reduced axes are kept with size 1.
  std::optional<Array> mean = {};
};

FARCALL_API Array mean(const Array& x, const Axes& axes, const MeanOptions& options);
// Raises INVALID_ARGUMENT if x is complex and dtype is real.
FARCALL_API Array var(const Array& x, const Axes& axes, const VarOptions& options);
FARCALL_API Array std(const Array& x, const Axes& axes, const VarOptions& options);

struct Average {
  Array mean;
  Array weight;  // the sum of the weights, in the shape of the mean
};
// The weighted mean. Weights have the shape of x, or are a vector of the size of the one axis.
FARCALL_API Average average(const Array& x, const Axes& axes = {},
                            const std::optional<Array>& weights = {}, bool keepdims = false);

}  // namespace farcall::numpy
