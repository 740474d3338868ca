// numpy's functions for sorting, splitting and multiplying arrays (namespace farcall::numpy); see
// numpy.h for common rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// ---- order; without an axis, of the flattened array ----
FARCALL_API Array sort(const Array& x, std::optional<int64_t> axis = -1, bool descending = false);
// A stable sort; returns int32 indices.
FARCALL_API Array argsort(const Array& x, std::optional<int64_t> axis = -1,
                          bool descending = false);
// `dtype` defaults to the result dtype of sum.
FARCALL_API Array cumsum(const Array& x, std::optional<int64_t> axis = {},
                         std::optional<DType> dtype = {});
FARCALL_API Array cumprod(const Array& x, std::optional<int64_t> axis = {},
                          std::optional<DType> dtype = {});

// The int32 indices at which to insert the elements of `v` into the sorted vector `a`: before equal
// elements, or after them if `after_equal`.
FARCALL_API Array searchsorted(const Array& a, const Array& v, bool after_equal = false);

// ---- quantiles ----
// The value of a quantile that lies between two elements.
enum class QuantileMethod { kLinear, kLower, kHigher, kMidpoint, kNearest };
struct QuantileOptions {
  Axes axes = {};
  QuantileMethod method = QuantileMethod::kLinear;
  bool keepdims = false;
  bool ignores_nan = false;  // else a NaN makes the result NaN
};
// The q-quantiles of the elements, with q from 0 to 1. q is a scalar, or a vector, whose dimension
// becomes the first one of the result.
FARCALL_API Array quantile(const Array& x, const Array& q, const QuantileOptions& options = {});
// The same with q from 0 to 100.
FARCALL_API Array percentile(const Array& x, const Array& q, const QuantileOptions& options = {});
FARCALL_API Array median(const Array& x, const Axes& axes = {}, bool keepdims = false,
                         bool ignores_nan = false);

// The smallest element at which the running sum of the weights, in sorted order, reaches the part q
// of their total. q is a scalar or a vector, as for quantile.
struct InvertedCdfOptions {
  // Default: ones. Of the shape of x, or a vector of the size of the one axis.
  std::optional<Array> weights = {};
  Axes axes = {};
  bool keepdims = false;
  bool ignores_nan = false;  // else a NaN makes the result NaN
  double whole = 1;          // the q that means the total: 100 for percentiles
};
FARCALL_API Array inverted_cdf(const Array& x, const Array& q,
                               const InvertedCdfOptions& options = {});

// ---- interpolation and differences ----
struct InterpOptions {
  // Values for x before the first and after the last point; default: the value of that point.
  std::optional<Array> left = {}, right = {};
  std::optional<double> period = {};  // of xp, which then need not be sorted
};
// Piecewise linear interpolation at x through the points (xp, fp). These are vectors; xp increases.
FARCALL_API Array interp(const Array& x, const Array& xp, const Array& fp,
                         const InterpOptions& options = {});
// Slopes along one axis: central differences, one-sided ones at the ends. `spacing` is the distance
// between points, or a vector of their coordinates.
FARCALL_API Array gradient(const Array& f, const Array& spacing, int64_t axis);

// ---- parts ----
// Splits at these indices of the dimension, or into equal parts.
FARCALL_API std::vector<Array> split(const Array& x, ListOf<int64_t> indices, int64_t axis = 0);
FARCALL_API std::vector<Array> split(const Array& x, int64_t sections, int64_t axis = 0);
// Repeats each element, or the whole array.
FARCALL_API Array repeat(const Array& x, int64_t repeats, std::optional<int64_t> axis = {});
FARCALL_API Array tile(const Array& x, ListOf<int64_t> repeats);
// Sets the elements above (tril) or below (triu) diagonal k of each matrix to zero.
FARCALL_API Array tril(const Array& x, int64_t k = 0);
FARCALL_API Array triu(const Array& x, int64_t k = 0);
// The diagonals become the last dimension.
FARCALL_API Array diagonal(const Array& x, int64_t offset = 0, int64_t axis1 = 0,
                           int64_t axis2 = 1);
// The sums of the diagonals; `dtype` is the dtype of the result.
FARCALL_API Array trace(const Array& x, int64_t offset = 0, int64_t axis1 = 0, int64_t axis2 = 1,
                        std::optional<DType> dtype = {});

// ---- products; with `preferred`, the result has that dtype, and sums use it if it is wider ----
FARCALL_API Array tensordot(const Array& x, const Array& y, ListOf<int64_t> axes_x,
                            ListOf<int64_t> axes_y, std::optional<DType> preferred = {});

// For each step, the operands to multiply; their product is appended to the remaining operands. The
// format of numpy.einsum_path.
using EinsumPath = std::vector<std::vector<int64_t>>;
struct EinsumOptions {
  // Default: greedy. Each step multiplies the pair for which the size of the product minus the
  // sizes of both operands is smallest.
  std::optional<EinsumPath> path = {};
  bool in_order = false;  // multiply from the first operand to the last and ignore `path`
  std::optional<DType> preferred = {};
};
// Einstein summation: "ij,jk->ik"; "..." stands for dimensions without a letter. Operands are
// multiplied pair by pair.
FARCALL_API Array einsum(std::string_view subscripts, ListOf<Array> operands,
                         const EinsumOptions& options = {});

}  // namespace farcall::numpy
