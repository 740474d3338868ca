#include <farcall/ops/sharding_rule.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/internal/type_rules.h"

namespace farcall {
namespace {

using Pattern = ShardingRule::Pattern;

class RuleParser {
 public:
  explicit RuleParser(std::string_view text) : text_(text) {}

  std::pair<std::vector<Pattern>, std::vector<Pattern>> run() {
    std::vector<Pattern> operands = patterns();
    if (!take("->")) fail("expected a name, \",\" or \"->\"");
    std::vector<Pattern> results = patterns();
    if (next_ != text_.size()) fail("expected a name, \",\" or the end");
    return {std::move(operands), std::move(results)};
  }

 private:
  std::vector<Pattern> patterns() {
    std::vector<Pattern> all{pattern()};
    while (take(",")) all.push_back(pattern());
    return all;
  }

  Pattern pattern() {
    Pattern result;
    result.has_leading = take("...");
    for (std::string name = word(); !name.empty(); name = word()) {
      if (std::ranges::find(result.names, name) != result.names.end()) {
        fail(fmt::format("{} names two dimensions of one array", name));
      }
      result.names.push_back(std::move(name));
    }
    return result;
  }

  void skip() {
    while (next_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[next_]))) ++next_;
  }
  bool take(std::string_view token) {
    skip();
    if (!text_.substr(next_).starts_with(token)) return false;
    next_ += token.size();
    return true;
  }
  std::string word() {
    skip();
    const size_t begin = next_;
    const auto is_letter = [&] {
      const auto c = static_cast<unsigned char>(text_[next_]);
      return c == '_' || std::isalpha(c) || (next_ > begin && std::isdigit(c));
    };
    while (next_ < text_.size() && is_letter()) ++next_;
    return std::string(text_.substr(begin, next_ - begin));
  }
  [[noreturn]] void fail(std::string_view what) const {
    type_error(
        fmt::format("sharding rule \"{}\": {} at column {}; write for instance "
                    "\"... n, n -> ... n\"",
                    text_, what, next_ + 1));
  }

  std::string_view text_;
  size_t next_ = 0;
};

// Compares arrays with the patterns of a rule, sizes among all of them.
class Checker {
 public:
  explicit Checker(const std::string& text) : text_(text) {}

  void run(std::string_view what, std::span<const Pattern> patterns,
           std::span<const ShapeDtype> types) {
    // Nothing is written for one scalar, and for no array at all.
    const bool is_blank = patterns.size() == 1 && patterns[0] == Pattern();
    if (is_blank && types.empty()) return;
    if (patterns.size() != types.size()) {
      fail(fmt::format("expected {} {}s, got {}", patterns.size(), what, types.size()));
    }
    for (size_t i = 0; i < types.size(); ++i) {
      check(fmt::format("{} {}", what, i), patterns[i], types[i]);
    }
  }

 private:
  void check(const std::string& array, const Pattern& pattern, ShapeDtype type) {
    const size_t named = pattern.names.size(), rank = type.rank();
    if (pattern.has_leading ? rank < named : rank != named) {
      fail(fmt::format("{} should have {}{} dimensions, got {}{}", array,
                       pattern.has_leading ? "at least " : "", named, type.to_string(),
                       rank > named ? "; \"...\" in front stands for any leading ones" : ""));
    }
    const auto shape = type.shape();
    const std::vector<int64_t> leading(shape.begin(),
                                       shape.end() - static_cast<std::ptrdiff_t>(named));
    if (pattern.has_leading) {
      if (!leading_) leading_ = leading;
      if (*leading_ != leading) {
        fail(fmt::format("\"...\" stands for [{}], but in {} for [{}]", fmt::join(*leading_, ","),
                         array, fmt::join(leading, ",")));
      }
    }
    for (size_t d = 0; d < named; ++d) {
      const int64_t size = shape[leading.size() + d];
      const auto [at, is_new] = sizes_.try_emplace(pattern.names[d], size, array);
      if (is_new || at->second.first == size) continue;
      fail(fmt::format("dimension {} is {} in {} and {} in {}", pattern.names[d], at->second.first,
                       at->second.second, size, array));
    }
  }

  [[noreturn]] void fail(const std::string& what) const {
    type_error(fmt::format("sharding rule \"{}\": {}", text_, what));
  }

  const std::string& text_;
  std::optional<std::vector<int64_t>> leading_;
  std::map<std::string, std::pair<int64_t, std::string>> sizes_;  // with who has it
};

}  // namespace

ShardingRule::ShardingRule(std::string text) : text_(std::move(text)) {
  std::tie(operands_, results_) = RuleParser(text_).run();
}

void ShardingRule::check(std::span<const ShapeDtype> operands,
                         std::span<const ShapeDtype> results) const {
  Checker checker(text_);
  checker.run("operand", operands_, operands);
  checker.run("result", results_, results);
}

}  // namespace farcall
