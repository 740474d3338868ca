// The shapes that a handler is called with.
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
};

// The letters of the operands, in order.
std::vector<std::string> letters_of(const CheckSpec& spec);
// None where a dimension is negative.
std::optional<Case> make_case(const CheckSpec& spec, Sizes sizes);

// From small to large: one, odd, powers of two, each letter empty, tails of all lengths, large.
std::vector<Case> make_cases(const CheckSpec& spec);

}  // namespace farcall::tools
