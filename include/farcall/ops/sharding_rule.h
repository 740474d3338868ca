// How the dimensions of a call may be divided among devices, as text in the manner of einsum.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>

namespace farcall {

// "... n, n -> ... n": names of dimensions for each operand and, after the arrow, each result.
// Dimensions of one name are divided together, and have one size; a call on part of such a
// dimension gives that part of the results, or, where no result has the name, an addend of them.
// "..." in front stands for any leading dimensions, the same wherever it is written. No name at all
// is a scalar.
class FARCALL_API ShardingRule {
 public:
  struct Pattern {
    bool has_leading = false;
    std::vector<std::string> names;

    friend bool operator==(const Pattern&, const Pattern&) = default;
  };

  // Raises INVALID_ARGUMENT for other text.
  explicit ShardingRule(std::string text);

  const std::string& text() const { return text_; }
  const std::vector<Pattern>& operands() const { return operands_; }
  const std::vector<Pattern>& results() const { return results_; }

  // Raises INVALID_ARGUMENT where arrays of these types have not the dimensions that the rule
  // names.
  void check(std::span<const ShapeDtype> operands, std::span<const ShapeDtype> results) const;

 private:
  std::string text_;
  std::vector<Pattern> operands_, results_;
};

}  // namespace farcall
