// Images sampled between their elements, by scipy's names (namespace farcall::ndimage).
#pragma once

#include <cstdint>
#include <string_view>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::ndimage {

// The array at places between its elements: for each of its dimensions an array of places, all of
// one shape. `order` is 0 for the nearest element, 1 for linear interpolation. `mode` says what
// lies outside: "constant" (cval), "nearest", "wrap", "mirror" (about the last elements) or
// "reflect" (about their edges). Raises UNIMPLEMENTED for another order or mode, INVALID_ARGUMENT
// for another number of coordinates than dimensions.
FARCALL_API Array map_coordinates(const Array& input, ListOf<Array> coordinates, int64_t order,
                                  std::string_view mode = "constant", const Array& cval = 0.0);

}  // namespace farcall::ndimage
