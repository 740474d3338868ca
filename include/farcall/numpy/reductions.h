// Reductions with all of numpy's options, and those that ignore NaNs (namespace farcall::numpy);
// see ops/numpy.h for common rules.
#pragma once

#include <cstdint>
#include <optional>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_statistics.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

struct ExtremeOptions {
  bool keepdims = false;
  // A start value that takes part in the reduction; also the result if there are no elements.
  std::optional<Array> initial = {};
  // Which elements to include: bools that broadcast against x. max and min then need `initial`.
  std::optional<Array> where = {};
};
struct SumOptions : ExtremeOptions {
  // The dtype of the computation and of the result.
  std::optional<DType> dtype = {};
  // Sums bools and narrow integers as default integers; else the result has the dtype of x.
  bool promote_integers = true;
};

FARCALL_API Array sum(const Array& x, const Axes& axes, const SumOptions& options);
FARCALL_API Array prod(const Array& x, const Axes& axes, const SumOptions& options);
FARCALL_API Array max(const Array& x, const Axes& axes, const ExtremeOptions& options);
FARCALL_API Array min(const Array& x, const Axes& axes, const ExtremeOptions& options);
FARCALL_API Array any(const Array& x, const Axes& axes, bool keepdims,
                      const std::optional<Array>& where);
FARCALL_API Array all(const Array& x, const Axes& axes, bool keepdims,
                      const std::optional<Array>& where);
// The maximum minus the minimum.
FARCALL_API Array ptp(const Array& x, const Axes& axes = {}, bool keepdims = false);
FARCALL_API Array count_nonzero(const Array& x, const Axes& axes = {}, bool keepdims = false);

// ---- ignoring NaNs ----
FARCALL_API Array nansum(const Array& x, const Axes& axes = {}, const SumOptions& options = {});
FARCALL_API Array nanprod(const Array& x, const Axes& axes = {}, const SumOptions& options = {});
// NaN if all elements are NaN.
FARCALL_API Array nanmax(const Array& x, const Axes& axes = {}, const ExtremeOptions& options = {});
FARCALL_API Array nanmin(const Array& x, const Axes& axes = {}, const ExtremeOptions& options = {});
FARCALL_API Array nanmean(const Array& x, const Axes& axes = {}, const MeanOptions& options = {});
// NaN if there are at most `ddof` elements.
FARCALL_API Array nanvar(const Array& x, const Axes& axes = {}, const VarOptions& options = {});
FARCALL_API Array nanstd(const Array& x, const Axes& axes = {}, const VarOptions& options = {});
// -1 if all elements are NaN.
FARCALL_API Array nanargmax(const Array& x, std::optional<int64_t> axis = {},
                            bool keepdims = false);
FARCALL_API Array nanargmin(const Array& x, std::optional<int64_t> axis = {},
                            bool keepdims = false);

}  // namespace farcall::numpy
