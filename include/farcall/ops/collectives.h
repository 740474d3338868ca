// Operations among the elements of a vmap with an axis name. Outside such a vmap they raise
// NameError listing the names that there are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

using AxisNames = std::span<const std::string>;  // several: as if they were one axis, row-major

// The sum, mean, greatest and least over all elements of the axes.
FARCALL_API Array psum(const Array& x, AxisNames axes);
FARCALL_API Array pmean(const Array& x, AxisNames axes);
FARCALL_API Array pmax(const Array& x, AxisNames axes);
FARCALL_API Array pmin(const Array& x, AxisNames axes);

// All elements' x, along a new dimension at `axis`; tiled: one after the other in that dimension.
FARCALL_API Array all_gather(const Array& x, AxisNames axes, int64_t axis = 0, bool tiled = false);
// Element i gets slice i of each element's x along `split_axis`, put together along a new dimension
// at `concat_axis`; tiled: `split_axis` is cut in parts, and the parts follow each other.
FARCALL_API Array all_to_all(const Array& x, const std::string& axis, int64_t split_axis,
                             int64_t concat_axis, bool tiled = false);
// Element `to` gets the x of element `from` for each (from, to); zeros where nothing is sent.
FARCALL_API Array ppermute(const Array& x, const std::string& axis,
                           std::span<const std::pair<int64_t, int64_t>> perm);

// The number of the element, int32, and how many there are.
FARCALL_API Array axis_index(AxisNames axes);
FARCALL_API int64_t axis_size(AxisNames axes);

}  // namespace farcall::lax
