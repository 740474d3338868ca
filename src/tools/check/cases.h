// The shapes with which a handler is called.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/check/spec.h"

namespace farcall::tools {

struct Case {
  Sizes sizes;
  std::vector<ShapeDtype> arguments;
  std::vector<ShapeDtype> results;

  size_t nbytes() const;
  std::string to_string() const;  // "f32[17,64], s32[] -> f32[17,64]"
  // For the values of the arguments: the same for the same shapes.
  uint64_t data_seed(uint64_t seed) const;
};

// Returns no value if a dimension has no valid size.
std::optional<Case> make_case(const CheckSpec& spec, Sizes sizes);

// The reason if there are no cases: an operand without a valid shape, or operands that are too
// large.
std::string why_no_cases(const CheckSpec& spec);

// From small to large: one, odd sizes, powers of two, each letter zero, sizes around vector
// lengths, large sizes.
std::vector<Case> make_cases(const CheckSpec& spec);

}  // namespace farcall::tools
