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

// None where a dimension is no size.
std::optional<Case> make_case(const CheckSpec& spec, Sizes sizes);

// Where there is no case: which operand has no shape.
std::string why_no_cases(const CheckSpec& spec);

// From small to large: one, odd, powers of two, each letter empty, tails of all lengths, large.
std::vector<Case> make_cases(const CheckSpec& spec);

}  // namespace farcall::tools
