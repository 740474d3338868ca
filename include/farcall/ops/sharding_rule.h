// How the dimensions of a call may be divided among devices, in a notation like einsum's.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>

namespace farcall {

// "... n, n -> ... n": the names of the dimensions of each operand and, after the arrow, of each
// result. Dimensions with the same name have the same size and are divided together. A call on a
// part of such a dimension gives that part of the results, or, if no result has the name, a summand
// of them. A leading "..." stands for any leading dimensions, the same wherever it occurs. A scalar
// has no names.
class FARCALL_API ShardingRule {
 public:
  struct Pattern {
    bool has_leading = false;
    std::vector<std::string> names;

    friend bool operator==(const Pattern&, const Pattern&) = default;
  };

  // Raises INVALID_ARGUMENT for invalid text.
  explicit ShardingRule(std::string text);

  const std::string& text() const { return text_; }
  const std::vector<Pattern>& operands() const { return operands_; }
  const std::vector<Pattern>& results() const { return results_; }

  // Raises INVALID_ARGUMENT if arrays of these types do not have the dimensions that the rule
  // names.
  void check(std::span<const ShapeDtype> operands, std::span<const ShapeDtype> results) const;

 private:
  std::string text_;
  std::vector<Pattern> operands_, results_;
};

}  // namespace farcall
