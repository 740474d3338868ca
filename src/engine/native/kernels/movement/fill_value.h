// The element that gather returns for windows out of bounds.
#pragma once

#include <array>
#include <cstddef>

#include <farcall/primitives/indexing.h>

namespace farcall::native {

using FillValue = std::array<std::byte, 16>;

// NaN for floats, the lowest signed and the highest unsigned integer, True, and the highest words
// for keys, unless the parameters have a value.
FillValue fill_value_of(DType dtype, const GatherParams& params);

}  // namespace farcall::native
