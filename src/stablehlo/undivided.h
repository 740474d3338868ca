// Dimensions that XLA must not divide among devices.
#pragma once

#include <cstdint>
#include <span>

#include "stablehlo/emitter.h"

namespace farcall::stablehlo {

// The value with these dimensions whole on every device; the other dimensions may be divided.
// The value itself if the program has one device, and inside on_each_device().
Value undivided(Emitter& e, const Value& value, std::span<const int64_t> dimensions);

}  // namespace farcall::stablehlo
