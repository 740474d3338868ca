#include <farcall/ops/sharding_rule.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/core/sizes.h>

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
    if (take("...")) result.leading = group();
    for (;;) {
      std::vector<std::string> factors;
      if (take("(")) {
        for (std::string name = word(); !name.empty(); name = word()) {
          add_name(std::move(name), result, factors);
        }
        if (factors.size() < 2) fail("brackets hold two names or more");
        if (!take(")")) fail("expected a name or \")\"");
      } else if (std::string name = word(); !name.empty()) {
        add_name(std::move(name), result, factors);
      } else {
        return result;
      }
      result.dimensions.push_back(std::move(factors));
    }
  }

  void add_name(std::string name, const Pattern& pattern, std::vector<std::string>& factors) {
    const auto has_name = [&](const auto& all) {
      return std::ranges::find(all, name) != all.end();
    };
    if (has_name(factors) || std::ranges::any_of(pattern.dimensions, has_name)) {
      fail(fmt::format("{} names two dimensions of one array", name));
    }
    factors.push_back(std::move(name));
  }

  // The number after "...".
  std::string group() {
    size_t end = next_;
    while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end]))) ++end;
    std::string digits(text_.substr(next_, end - next_));
    next_ = end;
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
    return digits.empty() ? "0" : digits;
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
    invalid_argument(
        fmt::format("sharding rule \"{}\": {} at column {}; write for instance "
                    "\"... n, n -> ... n\"",
                    text_, what, next_ + 1));
  }

  std::string_view text_;
  size_t next_ = 0;
};

// Checks arrays against the patterns of a rule, and that sizes agree among all arrays.
class Checker {
 public:
  Checker(const std::string& text, bool may_differ) : text_(text), may_differ_(may_differ) {}

  void run(std::string_view what, std::span<const Pattern> patterns,
           std::span<const ShapeDtype> types) {
    // One scalar and no array at all are both written as empty text.
    const bool is_blank = patterns.size() == 1 && patterns[0] == Pattern();
    if (is_blank && types.empty()) return;
    if (patterns.size() != types.size()) {
      fail(fmt::format("expected {} {}s, got {}", patterns.size(), what, types.size()));
    }
    for (size_t i = 0; i < types.size(); ++i) {
      check(fmt::format("{} {}", what, i), patterns[i], types[i]);
    }
  }

  // Must be called after all arrays.
  void check_compounds(const std::map<std::string, int64_t>& given) const {
    for (const auto& [factors, size, array] : compounds_) {
      int64_t product = 1;
      for (const std::string& factor : factors) {
        const auto known = given.find(factor);
        product = saturated_product(product,
                                    known == given.end() ? sizes_.at(factor).first : known->second);
      }
      if (product == size || may_differ_) continue;
      fail(fmt::format("the dimension ({}) has size {} in {}, but the product of its factors is {}",
                       fmt::join(factors, " "), size, array, product));
    }
  }

 private:
  void check(const std::string& array, const Pattern& pattern, ShapeDtype type) {
    const size_t named = pattern.dimensions.size(), rank = type.is_token() ? 0 : type.rank();
    const bool has_leading = !pattern.leading.empty();
    if (has_leading ? rank < named : rank != named) {
      fail(fmt::format("{} should have {}{} dimensions, got {}{}", array,
                       has_leading ? "at least " : "", named, type.to_string(),
                       rank > named ? "; \"...\" in front stands for any leading ones" : ""));
    }
    if (rank == 0) return;
    const auto shape = type.shape();
    const std::vector<int64_t> leading(shape.begin(),
                                       shape.end() - static_cast<std::ptrdiff_t>(named));
    if (has_leading) {
      const auto& first = leading_.try_emplace(pattern.leading, leading).first->second;
      if (first != leading) {
        fail(fmt::format("\"...{}\" stands for [{}] and, in {}, for [{}]",
                         pattern.leading == "0" ? "" : pattern.leading, fmt::join(first, ","),
                         array, fmt::join(leading, ",")));
      }
    }
    for (size_t d = 0; d < named; ++d) {
      const std::vector<std::string>& factors = pattern.dimensions[d];
      const int64_t size = shape[leading.size() + d];
      if (factors.size() == 1) {
        note(factors[0], size, array);
      } else {
        compounds_.push_back({factors, size, array});
      }
    }
  }

  void note(const std::string& name, int64_t size, const std::string& array) {
    const auto [at, is_new] = sizes_.try_emplace(name, size, array);
    if (is_new || at->second.first == size || may_differ_) return;
    fail(fmt::format("dimension {} is {} in {} and {} in {}", name, at->second.first,
                     at->second.second, size, array));
  }

  [[noreturn]] void fail(const std::string& what) const {
    invalid_argument(fmt::format("sharding rule \"{}\": {}", text_, what));
  }

  struct Compound {
    std::vector<std::string> factors;
    int64_t size;
    std::string array;
  };
  const std::string& text_;
  bool may_differ_;
  std::map<std::string, std::vector<int64_t>> leading_;           // sizes, by group
  std::map<std::string, std::pair<int64_t, std::string>> sizes_;  // with an array that has it
  std::vector<Compound> compounds_;
};

// Checks that options name factors of the rule, and that each has one kind only.
void check_options(const std::string& text, const ShardingRuleOptions& options,
                   std::span<const Pattern> operands, std::span<const Pattern> results) {
  std::map<std::string, bool> is_whole;  // whether the factor is a whole dimension somewhere
  for (const auto patterns : {operands, results}) {
    for (const Pattern& pattern : patterns) {
      for (const std::vector<std::string>& factors : pattern.dimensions) {
        for (const std::string& factor : factors) is_whole[factor] |= factors.size() == 1;
      }
    }
  }
  const auto fail = [&](const std::string& what) {
    invalid_argument(fmt::format("sharding rule \"{}\": {}", text, what));
  };
  for (const auto& [factor, size] : options.factor_sizes) {
    const auto known = is_whole.find(factor);
    if (known == is_whole.end())
      fail(fmt::format("factor_sizes names the factor {}, which is not in the rule", factor));
    if (known->second) {
      fail(fmt::format(
          "factor_sizes names the factor {}, whose size is known from a dimension; remove it",
          factor));
    }
    if (size < 1)
      fail(fmt::format("factor_sizes: the size of {} must be 1 or more, got {}", factor, size));
  }
  for (const auto& [factor, whole] : is_whole) {
    if (!whole && !options.factor_sizes.contains(factor)) {
      fail(fmt::format(
          "the size of the factor {} is not known, as it is only part of dimensions; give it in "
          "factor_sizes",
          factor));
    }
  }
  std::map<std::string, const char*> kinds;
  const std::pair<const char*, const std::vector<std::string>*> lists[] = {
      {"reduction_factors", &options.reduction_factors},
      {"need_replication_factors", &options.need_replication_factors},
      {"permutation_factors", &options.permutation_factors}};
  for (const auto& [kind, factors] : lists) {
    for (const std::string& factor : *factors) {
      if (!is_whole.contains(factor)) {
        fail(fmt::format("{} names the factor {}, which is not in the rule", kind, factor));
      }
      const auto [known, is_new] = kinds.try_emplace(factor, kind);
      if (!is_new)
        fail(fmt::format("the factor {} is both in {} and in {}", factor, known->second, kind));
    }
  }
}

}  // namespace

ShardingRule::ShardingRule(std::string text, ShardingRuleOptions options)
    : text_(std::move(text)), options_(std::move(options)) {
  std::tie(operands_, results_) = RuleParser(text_).run();
  check_options(text_, options_, operands_, results_);
}

void ShardingRule::check(std::span<const ShapeDtype> operands, std::span<const ShapeDtype> results,
                         bool may_differ) const {
  Checker checker(text_, may_differ);
  checker.run("operand", operands_, operands);
  checker.run("result", results_, results);
  checker.check_compounds(options_.factor_sizes);
}

}  // namespace farcall
