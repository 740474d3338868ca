// Declarations of targets, from define_target and from their handlers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <farcall/ffi/attribute.h>
#include <farcall/ops/define.h>

namespace farcall {

// Adds the defaults of the target's definition, and converts attributes to the types that the
// target declares. Raises INVALID_ARGUMENT for values that cannot be converted.
Attributes complete_attributes(const std::string& target_name, const Attributes& attributes);
// Changes with each registration, and with each definition that calls depend on.
uint64_t declarations_version();

// The text of a rule that shape_signature made, and its number of operands. No value for other
// rules.
struct SignatureOperands {
  std::string text;
  size_t count = 0;
};
std::optional<SignatureOperands> operands_of_signature(const ShapeRule& rule);

}  // namespace farcall
