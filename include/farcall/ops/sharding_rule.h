// How the dimensions of a call may be divided among devices, in a notation like einsum's.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>

namespace farcall {

// Properties of factors that the text of a rule does not have.
struct ShardingRuleOptions {
  // Sizes of factors that are never a whole dimension.
  std::map<std::string, int64_t> factor_sizes = {};
  // The kinds of factors; all others pass through. Factors that need replication are not divided.
  std::vector<std::string> reduction_factors = {}, need_replication_factors = {},
                           permutation_factors = {};
};

// "... n, n -> ... n": the names of the dimensions (factors) of each operand and, after the arrow,
// of each result. Dimensions with the same name have the same size and are divided together. A call
// on a part of such a dimension computes that part of the results, or, if no result has the name, a
// summand of them. "(a b)" is one dimension of size a * b, with a as the slower factor. A leading
// "..." stands for any leading dimensions, the same wherever it occurs; "...1", "...2" are further
// groups of leading dimensions. A scalar has no names.
class FARCALL_API ShardingRule {
 public:
  struct Pattern {
    std::string leading = {};  // "0" for "...", "1" for "...1"; empty without it
    std::vector<std::vector<std::string>> dimensions = {};  // the factors of each

    friend bool operator==(const Pattern&, const Pattern&) = default;
  };

  // Raises INVALID_ARGUMENT for invalid text, and for options that do not match it.
  explicit ShardingRule(std::string text, ShardingRuleOptions options = {});

  const std::string& text() const { return text_; }
  const ShardingRuleOptions& options() const { return options_; }
  const std::vector<Pattern>& operands() const { return operands_; }
  const std::vector<Pattern>& results() const { return results_; }

  // Raises INVALID_ARGUMENT if arrays of these types do not have the dimensions that the rule
  // names, and, unless `may_differ`, if a name has two sizes.
  void check(std::span<const ShapeDtype> operands, std::span<const ShapeDtype> results,
             bool may_differ = false) const;

 private:
  std::string text_;
  ShardingRuleOptions options_;
  std::vector<Pattern> operands_, results_;
};

}  // namespace farcall
