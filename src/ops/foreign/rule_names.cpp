#include "ops/internal/rule_names.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace farcall {
namespace {

void add_pattern(const ShardingRule& rule, const ShardingRule::Pattern& pattern,
                 DimensionNames& names) {
  const auto& whole = rule.options().need_replication_factors;
  const size_t num_named = pattern.dimensions.size();
  size_t num_leading = 0;
  for (size_t d = 0; d < names.size(); ++d) {
    if (!names[d].empty()) continue;
    const size_t from_end = names.size() - d;
    if (from_end > num_named) {
      names[d] = {fmt::format("...{} {}", pattern.leading, num_leading++)};
      continue;
    }
    names[d] = pattern.dimensions[num_named - from_end];
    const auto is_whole = [&](const std::string& factor) {
      return std::ranges::find(whole, factor) != whole.end();
    };
    // The factors of a dimension are listed from the slowest to the fastest. Shards are contiguous,
    // so a factor cannot be divided if a slower one is not. Removes the first such factor and all
    // that follow.
    names[d].erase(std::ranges::find_if(names[d], is_whole), names[d].end());
  }
}

}  // namespace

void add_rule_names(const ShardingRule& rule, NamedDimensions& names) {
  for (size_t i = 0; i < names.operands.size(); ++i) {
    add_pattern(rule, rule.operands()[i], names.operands[i]);
  }
  for (size_t i = 0; i < names.results.size(); ++i) {
    add_pattern(rule, rule.results()[i], names.results[i]);
  }
  names.sizes.insert(rule.options().factor_sizes.begin(), rule.options().factor_sizes.end());
}

std::string describe_specs(std::span<const ShapeDtype> operands,
                           std::span<const PartitionSpec> specs) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!is_any_split(specs.subspan(i, 1))) continue;
    texts.push_back(
        fmt::format("operand {} {} lies as {}", i, operands[i].to_string(), to_string(specs[i])));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace farcall
