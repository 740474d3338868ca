// Applications of primitives on which their transformation rules are tried.
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
  // Whether differences tell the derivative.
  bool is_smooth = true;
  // Operands from this one on may vary.
  size_t first_varying = 0;
  // Whether the derivative has a derivative itself.
  bool is_smooth_twice = true;

  std::vector<Array> operator()(std::span<const Array> inputs) const;
  std::string description() const;
};

const std::vector<RuleCase>& rule_cases();

// A part of them.
std::vector<RuleCase> indexing_cases();

// Values without order or pattern, of which none are equal, in this shape.
Array spread(const Shape& shape, double low = -1.3, double high = 1.4);

}  // namespace farcall::testing
