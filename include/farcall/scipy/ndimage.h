// Interpolation of images, with scipy's names (namespace farcall::ndimage).
#pragma once

#include <cstdint>
#include <string_view>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::ndimage {

// Interpolates the array at fractional coordinates: one coordinate array for each of its
// dimensions, all of one shape. `order` is 0 for the nearest element, 1 for linear interpolation.
// `mode` defines the values outside: "constant" (cval), "nearest", "wrap", "mirror" (about the
// centres of the last elements) or "reflect" (about their edges). Raises UNIMPLEMENTED for another
// order or mode, INVALID_ARGUMENT if there is not one coordinate array per dimension.
FARCALL_API Array map_coordinates(const Array& input, ListOf<Array> coordinates, int64_t order,
                                  std::string_view mode = "constant", const Array& cval = 0.0);

}  // namespace farcall::ndimage
