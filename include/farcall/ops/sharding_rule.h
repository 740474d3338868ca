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

// What the text of a rule does not say.
struct ShardingRuleOptions {
  // Of factors that are nowhere a whole dimension.
  std::map<std::string, int64_t> factor_sizes = {};
  // Kinds of factors; the others pass through. Those that need replication are not divided.
  std::vector<std::string> reduction_factors = {}, need_replication_factors = {},
                           permutation_factors = {};
};

// "... n, n -> ... n": names of dimensions (factors) for each operand and, after the arrow, each
// result. Dimensions of one name are divided together, and have one size; a call on part of such a
// dimension gives that part of the results, or, where no result has the name, an addend of them.
// "(a b)" is one dimension of size a times b, a the slower. "..." in front stands for any leading
// dimensions, the same wherever it is written; "...1", "...2" are further groups of these. No name
// at all is a scalar.
class FARCALL_API ShardingRule {
 public:
  struct Pattern {
    std::string leading = {};  // "0" for "...", "1" for "...1"; empty without it
    std::vector<std::vector<std::string>> dimensions = {};  // the factors of each

    friend bool operator==(const Pattern&, const Pattern&) = default;
  };

  // Raises INVALID_ARGUMENT for other text, and for options that do not fit it.
  explicit ShardingRule(std::string text, ShardingRuleOptions options = {});

  const std::string& text() const { return text_; }
  const ShardingRuleOptions& options() const { return options_; }
  const std::vector<Pattern>& operands() const { return operands_; }
  const std::vector<Pattern>& results() const { return results_; }

  // Raises INVALID_ARGUMENT where arrays of these types have not the dimensions that the rule
  // names, and, unless `may_differ`, where a name has two sizes.
  void check(std::span<const ShapeDtype> operands, std::span<const ShapeDtype> results,
             bool may_differ = false) const;

 private:
  std::string text_;
  ShardingRuleOptions options_;
  std::vector<Pattern> operands_, results_;
};

}  // namespace farcall
