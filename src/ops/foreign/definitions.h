// What is declared of targets, by define_target and by their handlers.
#pragma once

#include <cstdint>
#include <string>

#include <farcall/ffi/attribute.h>

namespace farcall {

// With the defaults of the target's definition, and in the types that the target declares. Raises
// INVALID_ARGUMENT for those that have no value of their type.
Attributes complete_attributes(const std::string& target_name, const Attributes& attributes);
// Another number after each definition and registration.
uint64_t declarations_version();

}  // namespace farcall
