// Sorting, running sums, and neighbours: extends ops/numpy_arrays.h (namespace farcall::numpy).
//
// All raise Error (INVALID_ARGUMENT) naming the function for axes and shapes that do not fit.
#pragma once

#include <cstdint>
#include <numbers>
#include <optional>
#include <variant>
#include <vector>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// ---- order ----
// The indices along an axis that sort by the last key, then by the one before it, and so on;
// default integers. Raises TypeError without keys.
FARCALL_API Array lexsort(ListOf<Array> keys, int64_t axis = -1);
// x with element `kth` at its sorted position and the smaller elements before it; argpartition
// gives the indices of the elements.
FARCALL_API Array partition(const Array& x, int64_t kth, int64_t axis = -1);
FARCALL_API Array argpartition(const Array& x, int64_t kth, int64_t axis = -1);
// The elements as complex numbers, sorted along the last axis by real part, then by imaginary part.
FARCALL_API Array sort_complex(const Array& x);
// The number of the bin that contains each element. The edges are monotonic. An element that equals
// an edge belongs to the bin above it, or below it if `right`.
FARCALL_API Array digitize(const Array& x, const Array& edges, bool right = false);
// Whether each element of x is among the elements of `tests`; if `invert`, whether it is not.
FARCALL_API Array isin(const Array& x, const Array& tests, bool invert = false);

// ---- running sums and products; without an axis, of the flattened array ----
// NaNs count as 0 (sums) or 1 (products).
FARCALL_API Array nancumsum(const Array& x, std::optional<int64_t> axis = {},
                            std::optional<DType> dtype = {});
FARCALL_API Array nancumprod(const Array& x, std::optional<int64_t> axis = {},
                             std::optional<DType> dtype = {});
// Along the axis, which is optional for a vector. If `include_initial`, the result begins with the
// empty sum or product. Sums have the result dtype of sum.
struct CumulativeOptions {
  std::optional<int64_t> axis = {};
  std::optional<DType> dtype = {};
  bool include_initial = false;
};
FARCALL_API Array cumulative_sum(const Array& x, const CumulativeOptions& options = {});
FARCALL_API Array cumulative_prod(const Array& x, const CumulativeOptions& options = {});

// ---- neighbours ----
// Differences along an axis, applied `order` times; for bools, whether neighbours differ.
struct DiffOptions {
  int64_t order = 1;  // from 0 to 2^31 - 1
  int64_t axis = -1;
  std::optional<Array> prepend = {}, append = {};  // joined to x first
};
FARCALL_API Array diff(const Array& x, const DiffOptions& options = {});
// Slopes along axes, as by the gradient of ops/numpy_arrays.h, in the order of the axes. `spacings`
// has the distance or the coordinates for each axis, or one for all axes; by default the distance
// is 1. Raises TypeError for another number of spacings.
FARCALL_API std::vector<Array> gradient(const Array& f, ListOf<Array> spacings = {},
                                        const Axes& axes = {});
// Differences of the flattened array, with these elements before and after them, in its dtype.
FARCALL_API Array ediff1d(const Array& x, const std::optional<Array>& to_end = {},
                          const std::optional<Array>& to_begin = {});
// The integral along an axis by the trapezoidal rule; `x` are the coordinates of y, else they are
// spaced by dx.
FARCALL_API Array trapezoid(const Array& y, const std::optional<Array>& x = {},
                            const Array& dx = 1.0, int64_t axis = -1);
// Adds multiples of `period` to p so that neighbours along an axis differ by at most half a period.
// Only jumps larger than `discont` (default: half a period) are changed. Integers stay integers if
// the period is an integer.
struct UnwrapOptions {
  std::optional<Array> discont = {};
  int64_t axis = -1;
  std::variant<int64_t, double, Array> period = 2 * std::numbers::pi;
};
FARCALL_API Array unwrap(const Array& p, const UnwrapOptions& options = {});

}  // namespace farcall::numpy
