// numpy's functions of order, of parts of arrays and of products (namespace farcall::numpy); see
// numpy.h for what all of them share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// ---- order; without an axis, of the flattened array ----
FARCALL_API Array sort(const Array& x, std::optional<int64_t> axis = -1, bool descending = false);
// Equal elements keep their order; int32.
FARCALL_API Array argsort(const Array& x, std::optional<int64_t> axis = -1,
                          bool descending = false);
// The dtype of the result is `dtype`, or that of sum.
FARCALL_API Array cumsum(const Array& x, std::optional<int64_t> axis = {},
                         std::optional<DType> dtype = {});
FARCALL_API Array cumprod(const Array& x, std::optional<int64_t> axis = {},
                          std::optional<DType> dtype = {});

// Where elements of `v` would be inserted into the sorted vector `a`: before those equal to them,
// or after them; int32.
FARCALL_API Array searchsorted(const Array& a, const Array& v, bool after_equal = false);

// ---- quantiles ----
// What is taken where a part ends between two elements.
enum class QuantileMethod { kLinear, kLower, kHigher, kMidpoint, kNearest };
struct QuantileOptions {
  Axes axes = {};
  QuantileMethod method = QuantileMethod::kLinear;
  bool keepdims = false;
  bool ignores_nan = false;  // else a NaN makes the result NaN
};
// The values below which the part q, from 0 to 1, of the elements lies; q is a scalar, or a vector
// whose dimension is the first of the result.
FARCALL_API Array quantile(const Array& x, const Array& q, const QuantileOptions& options = {});
// The same with q from 0 to 100.
FARCALL_API Array percentile(const Array& x, const Array& q, const QuantileOptions& options = {});
FARCALL_API Array median(const Array& x, const Axes& axes = {}, bool keepdims = false,
                         bool ignores_nan = false);

// ---- lines and slopes ----
struct InterpOptions {
  // What counts before the first and behind the last point; that point's value if left out.
  std::optional<Array> left = {}, right = {};
  std::optional<double> period = {};  // of the points, which then need not rise
};
// The values at x of the line through the points (xp, fp), vectors of which xp rises.
FARCALL_API Array interp(const Array& x, const Array& xp, const Array& fp,
                         const InterpOptions& options = {});
// The slopes along one axis: central differences, one-sided ones at the ends. `spacing` is the
// distance of points, or a vector of the places where they lie.
FARCALL_API Array gradient(const Array& f, const Array& spacing, int64_t axis);

// ---- parts ----
// At these indices of the dimension, or into equal parts.
FARCALL_API std::vector<Array> split(const Array& x, ListOf<int64_t> indices, int64_t axis = 0);
FARCALL_API std::vector<Array> split(const Array& x, int64_t sections, int64_t axis = 0);
// Each element, or the whole array, several times.
FARCALL_API Array repeat(const Array& x, int64_t repeats, std::optional<int64_t> axis = {});
FARCALL_API Array tile(const Array& x, ListOf<int64_t> repeats);
// Zeros above, or below, diagonal k of each matrix.
FARCALL_API Array tril(const Array& x, int64_t k = 0);
FARCALL_API Array triu(const Array& x, int64_t k = 0);
// The diagonals become the last dimension.
FARCALL_API Array diagonal(const Array& x, int64_t offset = 0, int64_t axis1 = 0,
                           int64_t axis2 = 1);
// The sums of the diagonals, in this dtype if one is given.
FARCALL_API Array trace(const Array& x, int64_t offset = 0, int64_t axis1 = 0, int64_t axis2 = 1,
                        std::optional<DType> dtype = {});

// ---- products; with `preferred` the result has this dtype, and so have wider sums ----
FARCALL_API Array tensordot(const Array& x, const Array& y, ListOf<int64_t> axes_x,
                            ListOf<int64_t> axes_y, std::optional<DType> preferred = {});

// Which operands are multiplied in turn; a product takes its place behind those that are left. As
// numpy.einsum_path gives it.
using EinsumPath = std::vector<std::vector<int64_t>>;
struct EinsumOptions {
  // Left out: always the pair with the smallest product.
  std::optional<EinsumPath> path = {};
  bool in_order = false;  // from the first operand to the last; else as `path` says
  std::optional<DType> preferred = {};
};
// Einstein's summation: "ij,jk->ik"; "..." stands for dimensions without a letter. Operands are
// multiplied pair by pair.
FARCALL_API Array einsum(std::string_view subscripts, ListOf<Array> operands,
                         const EinsumOptions& options = {});

}  // namespace farcall::numpy
