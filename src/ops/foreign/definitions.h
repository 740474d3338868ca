// Declarations of targets, from define_target and from their handlers.
#pragma once

#include <cstdint>
#include <string>

#include <farcall/ffi/attribute.h>

namespace farcall {

// Adds the defaults of the target's definition, and converts attributes to the types that the
// target declares. Raises INVALID_ARGUMENT for values that cannot be converted.
Attributes complete_attributes(const std::string& target_name, const Attributes& attributes);
// Changes with each registration, and with each definition that calls depend on.
uint64_t declarations_version();

}  // namespace farcall
