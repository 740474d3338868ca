// Applications of primitives for tests of their transformation rules.
#pragma once

#include <string>
#include <vector>

#include <farcall/program/primitive.h>
#include <farcall/trace/array.h>

namespace farcall::testing {

struct RuleCase {
  std::string primitive;
  ParamsPtr params;
  // In float64, complex128, or a dtype without derivative, at points where the operation is smooth.
  std::vector<Array> operands;
  // Whether finite differences approximate the derivative.
  bool is_smooth = true;
  // The first operand that may vary; the later ones may vary too.
  size_t first_varying = 0;
  // Whether the derivative is differentiable too.
  bool is_smooth_twice = true;

  std::vector<Array> operator()(std::span<const Array> inputs) const;
  std::string description() const;
};

const std::vector<RuleCase>& rule_cases();

// The part of them for indexing primitives.
std::vector<RuleCase> indexing_cases();

// Distinct, irregular values in this shape.
Array spread(const Shape& shape, double low = -1.3, double high = 1.4);

}  // namespace farcall::testing
