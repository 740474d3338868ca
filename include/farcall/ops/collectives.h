// Operations among the elements of a vmap with an axis name. Outside such a vmap they raise
// NameError listing the names that there are.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// One name, or {several}: as if they were one axis, row-major.
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

// The sum, mean, greatest and least over all elements of the axes.
FARCALL_API Array psum(const Array& x, const AxisNames& axes);
FARCALL_API Array pmean(const Array& x, const AxisNames& axes);
FARCALL_API Array pmax(const Array& x, const AxisNames& axes);
FARCALL_API Array pmin(const Array& x, const AxisNames& axes);

// All elements' x, along a new dimension at `axis`; tiled: one after the other in that dimension.
FARCALL_API Array all_gather(const Array& x, const AxisNames& axes, int64_t axis = 0,
                             bool tiled = false);
// Element i gets slice i of each element's x along `split_axis`, put together along a new dimension
// at `concat_axis`; tiled: `split_axis` is cut in parts, and the parts follow each other.
FARCALL_API Array all_to_all(const Array& x, const std::string& axis, int64_t split_axis,
                             int64_t concat_axis, bool tiled = false);
// The sum over the axis, of which element i gets slice i along `scatter_dimension`; tiled: part i.
FARCALL_API Array psum_scatter(const Array& x, const std::string& axis,
                               int64_t scatter_dimension = 0, bool tiled = false);
// Element `to` gets the x of element `from` for each (from, to); zeros where nothing is sent.
FARCALL_API Array ppermute(const Array& x, const std::string& axis,
                           ListOf<std::pair<int64_t, int64_t>> perm);

// x with its dimension `dimension`, which has the size of the axis, exchanged with the axis.
FARCALL_API Array pswapaxes(const Array& x, const std::string& axis, int64_t dimension);
// The x of element `source`, for all elements. Raises INVALID_ARGUMENT for an element that there is
// not.
FARCALL_API Array pbroadcast(const Array& x, const AxisNames& axes, int64_t source);

// The number of the element, int32, and how many there are.
FARCALL_API Array axis_index(const AxisNames& axes);
FARCALL_API int64_t axis_size(const AxisNames& axes);

}  // namespace farcall::lax
