// Collective operations over named axes (namespace farcall::lax). An axis is bound by a vmap with
// an axis name, or by a shard_map over a mesh. Its elements are the elements of the batch, or the
// devices along the axis.
//
// All raise NameError, listing the axis names in scope, for an axis that is not bound, and Error
// (INVALID_ARGUMENT) naming the function for dimensions, sizes and indices that do not fit.
// Negative dimensions count from the end. pmax and pmin cannot be differentiated.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// One axis name, or {several}, which act as one axis in row-major order.
struct AxisNames : std::vector<std::string> {
  AxisNames() = default;
  AxisNames(std::string name) : vector{std::move(name)} {}
  AxisNames(const char* name) : vector{std::string(name)} {}
  AxisNames(std::initializer_list<std::string> names) : vector(names) {}
  template <std::convertible_to<std::span<const std::string>> Names>
  AxisNames(const Names& names) : AxisNames(std::span<const std::string>(names)) {}

 private:
  explicit AxisNames(std::span<const std::string> names) : vector(names.begin(), names.end()) {}
};

// The sum, mean, maximum and minimum over all elements of the axes. They have the shape of x. Bools
// are summed as int32; the mean of integers is a float.
FARCALL_API Array psum(const Array& x, const AxisNames& axes);
FARCALL_API Array pmean(const Array& x, const AxisNames& axes);
FARCALL_API Array pmax(const Array& x, const AxisNames& axes);
FARCALL_API Array pmin(const Array& x, const AxisNames& axes);

// Gathers all elements' x, stacked along a new dimension `axis`. If `tiled`, concatenates them
// along the existing dimension `axis` instead.
FARCALL_API Array all_gather(const Array& x, const AxisNames& axes, int64_t axis = 0,
                             bool tiled = false);
// Element i receives slice i along `split_axis` of each element's x, stacked along a new dimension
// `concat_axis`. The size of `split_axis` must be that of the axis. If `tiled`, it must be a
// multiple of that; `split_axis` is cut into equal parts, which are concatenated along
// `concat_axis`.
FARCALL_API Array all_to_all(const Array& x, const AxisNames& axes, int64_t split_axis,
                             int64_t concat_axis, bool tiled = false);
// The sum over the axis, scattered: element i receives slice i along `scatter_dimension`, or part i
// of that dimension if `tiled`. Sizes as for all_to_all.
FARCALL_API Array psum_scatter(const Array& x, const AxisNames& axes, int64_t scatter_dimension = 0,
                               bool tiled = false);
// For each pair (from, to), element `to` receives the x of element `from`. Elements that receive
// nothing get zeros. Each element may send once and receive once. Over several axes, x is gathered.
FARCALL_API Array ppermute(const Array& x, const AxisNames& axes,
                           ListOf<std::pair<int64_t, int64_t>> perm);

// Exchanges a dimension of x, which must have the size of the axis, with the axis: element i
// receives slice i of each element's x, stacked along the same dimension.
FARCALL_API Array pswapaxes(const Array& x, const AxisNames& axes, int64_t dimension);
// The x of element `source`, for all elements. Raises INVALID_ARGUMENT if `source` is out of range.
FARCALL_API Array pbroadcast(const Array& x, const AxisNames& axes, int64_t source);

// Returns x. In a shard_map that checks replication, the result counts as varying over these axes:
// the cotangents of all devices are summed.
FARCALL_API Array pvary(const Array& x, const AxisNames& axes);

// The element's index along the axes (int32), and the number of elements. Errors are about
// `function`.
FARCALL_API Array axis_index(const AxisNames& axes);
FARCALL_API int64_t axis_size(const AxisNames& axes, std::string_view function = "axis_size");

}  // namespace farcall::lax
