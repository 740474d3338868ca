#include <farcall/numpy/reductions.h>

#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

struct Accumulation {
  Array (*reduce)(const Array&, const Axes&, bool);
  Array (*combine)(const Array&, const Array&);
  int identity;
};
constexpr Accumulation kSum = {sum, add, 0}, kProduct = {prod, multiply, 1};

Array accumulate(const Accumulation& how, const Array& x, const Axes& axes,
                 const SumOptions& options) {
  Array a = options.dtype ? astype(x, *options.dtype) : x;
  if (options.where) a = where(*options.where, a, astype(how.identity, a.dtype()));
  Array result = how.reduce(a, axes, options.keepdims);
  if (options.dtype) {
    result = astype(result, *options.dtype);
  } else if (!options.promote_integers) {
    result = astype(result, x.dtype());
  }
  if (!options.initial) return result;
  return how.combine(result, astype(*options.initial, result.dtype()));
}

struct Extreme {
  const char* name;
  Array (*reduce)(const Array&, const Axes&, bool);
  Array (*primitive)(const Array&, ListOf<int64_t>);
  Array (*combine)(const Array&, const Array&);
};
constexpr Extreme kMax = {"max", max, lax::reduce_max, maximum};
constexpr Extreme kMin = {"min", min, lax::reduce_min, minimum};

Array extreme(const Extreme& which, const Array& x, const Axes& axes,
              const ExtremeOptions& options) {
  if (!options.initial) {
    if (options.where) {
      invalid_argument(
          fmt::format("{}: where requires initial, the result for no elements", which.name));
    }
    return which.reduce(x, axes, options.keepdims);
  }
  const Array a = options.where ? where(*options.where, x, astype(*options.initial, x.dtype())) : x;
  const std::vector<int64_t> kept = normalize_axes(axes, a.rank(), which.name);
  // The primitive, unlike which.function, also reduces zero elements.
  Array result = which.primitive(a, kept);
  if (options.keepdims) result = expand_dims(result, kept);
  return which.combine(result, astype(*options.initial, result.dtype()));
}

// ---- NaNs

// x with NaNs replaced by `value`.
Array without_nans(const Array& x, double value) {
  return is_inexact(x.dtype()) ? where(isnan(x), astype(value, x.dtype()), x) : x;
}

Array nan_extreme(const Extreme& which, double worst, const Array& x, const Axes& axes,
                  const ExtremeOptions& options) {
  Array result = extreme(which, without_nans(x, worst), axes, options);
  if (options.initial || !is_floating(x.dtype())) return result;
  // NaN if all elements are NaN.
  return where(all(isnan(x), axes, options.keepdims), std::numeric_limits<double>::quiet_NaN(),
               result);
}

Array numbers_of(const Array& x, const std::optional<Array>& counted) {
  const Array is_number = logical_not(isnan(x));
  return counted ? logical_and(is_number, *counted) : is_number;
}

using Spread = Array (*)(const Array&, const Axes&, const VarOptions&);
Array nan_spread(Spread spread, const Array& x, const Axes& axes, VarOptions options) {
  if (!is_inexact(x.dtype())) return spread(x, axes, options);
  options.where = numbers_of(x, options.where);
  const Array result = spread(x, axes, options);
  const Array enough = greater(sum(*options.where, axes, options.keepdims), options.ddof);
  return where(enough, result, std::numeric_limits<double>::quiet_NaN());
}

using Position = Array (*)(const Array&, std::optional<int64_t>, bool);
Array nan_position(Position position, double worst, const Array& x, std::optional<int64_t> axis,
                   bool keepdims) {
  const Array result = position(without_nans(x, worst), axis, keepdims);
  const Axes axes = axis ? Axes(*axis) : Axes();
  return where(all(isnan(x), axes, keepdims), -1, result);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Array sum(const Array& x, const Axes& axes, const SumOptions& options) {
  return accumulate(kSum, x, axes, options);
}
Array prod(const Array& x, const Axes& axes, const SumOptions& options) {
  return accumulate(kProduct, x, axes, options);
}
Array max(const Array& x, const Axes& axes, const ExtremeOptions& options) {
  return extreme(kMax, x, axes, options);
}
Array min(const Array& x, const Axes& axes, const ExtremeOptions& options) {
  return extreme(kMin, x, axes, options);
}

Array any(const Array& x, const Axes& axes, bool keepdims, const std::optional<Array>& where) {
  return any(where ? logical_and(x, *where) : x, axes, keepdims);
}
Array all(const Array& x, const Axes& axes, bool keepdims, const std::optional<Array>& where) {
  return all(where ? logical_or(x, logical_not(*where)) : x, axes, keepdims);
}

Array ptp(const Array& x, const Axes& axes, bool keepdims) {
  return subtract(max(x, axes, keepdims), min(x, axes, keepdims));
}
Array count_nonzero(const Array& x, const Axes& axes, bool keepdims) {
  return sum(as_bool(x), axes, keepdims);
}

Array nansum(const Array& x, const Axes& axes, const SumOptions& options) {
  return sum(without_nans(x, 0), axes, options);
}
Array nanprod(const Array& x, const Axes& axes, const SumOptions& options) {
  return prod(without_nans(x, 1), axes, options);
}
Array nanmax(const Array& x, const Axes& axes, const ExtremeOptions& options) {
  return nan_extreme(kMax, -kInfinity, x, axes, options);
}
Array nanmin(const Array& x, const Axes& axes, const ExtremeOptions& options) {
  return nan_extreme(kMin, kInfinity, x, axes, options);
}
Array nanmean(const Array& x, const Axes& axes, const MeanOptions& options) {
  MeanOptions counted = options;
  if (is_inexact(x.dtype())) counted.where = numbers_of(x, options.where);
  return mean(x, axes, counted);
}
Array nanvar(const Array& x, const Axes& axes, const VarOptions& options) {
  return nan_spread(var, x, axes, options);
}
Array nanstd(const Array& x, const Axes& axes, const VarOptions& options) {
  return nan_spread(std, x, axes, options);
}
Array nanargmax(const Array& x, std::optional<int64_t> axis, bool keepdims) {
  return nan_position(argmax, -kInfinity, x, axis, keepdims);
}
Array nanargmin(const Array& x, std::optional<int64_t> axis, bool keepdims) {
  return nan_position(argmin, kInfinity, x, axis, keepdims);
}

}  // namespace farcall::numpy
