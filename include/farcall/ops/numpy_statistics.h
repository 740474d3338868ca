// Means and deviations with all of numpy's options (namespace farcall::numpy); see numpy.h for what
// all of its functions share.
//
// Narrow floats are added up in float32, and the result alone is narrow.
#pragma once

#include <optional>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

struct MeanOptions {
  bool keepdims = false;
  // That of the elements and of the result; without one, that of x or float32 for integers.
  std::optional<DType> dtype = {};
  // Which elements count: bools that broadcast to the shape of x.
  std::optional<Array> where = {};
};

struct VarOptions : MeanOptions {
  double ddof = 0;  // less than the number of elements
  // The mean along the axes, which were kept, where it is known already.
  std::optional<Array> mean = {};
};

FARCALL_API Array mean(const Array& x, const Axes& axes, const MeanOptions& options);
// Raises INVALID_ARGUMENT for a real dtype where x is complex.
FARCALL_API Array var(const Array& x, const Axes& axes, const VarOptions& options);
FARCALL_API Array std(const Array& x, const Axes& axes, const VarOptions& options);

struct Average {
  Array mean;
  Array weight;  // the sum of the weights, in the shape of the mean
};
// The mean of elements that count as often as their weight says. Weights have the shape of x, or
// are a vector of the size of the one axis.
FARCALL_API Average average(const Array& x, const Axes& axes = {},
                            const std::optional<Array>& weights = {}, bool keepdims = false);

}  // namespace farcall::numpy
