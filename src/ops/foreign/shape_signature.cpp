// Shape rules as text: "[..., n], [n] -> [..., n], [...]".
#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/ops/define.h>

#include "ops/foreign/definitions.h"
#include "ops/foreign/size_steps.h"

namespace farcall {
namespace {

struct ShapePattern {
  std::optional<DType> dtype;  // without a value: that of the first operand
  bool has_ellipsis = false;
  std::vector<SizeSteps> sizes;  // after the ellipsis, if any
};

class SignatureParser {
 public:
  explicit SignatureParser(std::string_view text) : text_(text) {}

  std::pair<std::vector<ShapePattern>, std::vector<ShapePattern>> run() {
    std::vector<ShapePattern> operands, results;
    if (!at("->")) operands = patterns();
    expect("->");
    results = patterns();
    skip();
    if (next_ != text_.size()) fail("expected the end");
    return {std::move(operands), std::move(results)};
  }

 private:
  std::vector<ShapePattern> patterns() {
    std::vector<ShapePattern> all{pattern()};
    while (take(",")) all.push_back(pattern());
    return all;
  }

  ShapePattern pattern() {
    ShapePattern result;
    if (const std::string name = word(); !name.empty()) {
      result.dtype = parse_dtype(name);
      if (!result.dtype) fail(fmt::format("\"{}\" is not a dtype", name));
    }
    expect("[");
    if (take("...")) {
      result.has_ellipsis = true;
      if (take("]")) return result;
      expect(",");
    } else if (take("]")) {
      return result;
    }
    do {
      result.sizes.push_back(size());
    } while (take(","));
    expect("]");
    return result;
  }

  SizeSteps size() {
    skip();
    const size_t start = next_;
    SizeSteps made;
    sum(made.steps);
    made.text = text_.substr(start, next_ - start);
    return made;
  }

  using Steps = std::vector<SizeStep>;

  void sum(Steps& steps) {
    product(steps);
    while (true) {
      if (take("+")) {
        product(steps);
        steps.push_back({SizeStep::Kind::kAdd});
      } else if (!at("->") && take("-")) {
        product(steps);
        steps.push_back({SizeStep::Kind::kSubtract});
      } else {
        return;
      }
    }
  }

  void product(Steps& steps) {
    factor(steps);
    while (true) {
      SizeStep::Kind kind;
      if (take("*")) {
        kind = SizeStep::Kind::kMultiply;
      } else if (take("//")) {
        kind = SizeStep::Kind::kDivide;
      } else if (at("/")) {
        fail("expected \"//\", a division that rounds down,");
      } else if (take("%")) {
        kind = SizeStep::Kind::kModulo;
      } else {
        return;
      }
      factor(steps);
      steps.push_back({kind});
    }
  }

  void factor(Steps& steps) {
    if (take("(")) {
      if (++depth_ > kMostDepth) fail("the brackets are nested too deeply");
      sum(steps);
      expect(")");
      --depth_;
      return;
    }
    const std::string found = word();
    if (found.empty()) fail("expected the name of a dimension or a number");
    if (!std::isdigit(static_cast<unsigned char>(found[0]))) {
      steps.push_back({.kind = SizeStep::Kind::kName, .name = found});
      return;
    }
    int64_t number = 0;
    const char* end = found.data() + found.size();
    const auto read = std::from_chars(found.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end) {
      fail(fmt::format("{} is not a number below 2^63", found));
    }
    steps.push_back({.kind = SizeStep::Kind::kNumber, .number = number});
  }

  std::string word() {
    skip();
    const size_t start = next_;
    const auto is_part = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    while (next_ < text_.size() && is_part(text_[next_])) ++next_;
    return std::string(text_.substr(start, next_ - start));
  }
  void skip() {
    while (next_ < text_.size() && text_[next_] == ' ') ++next_;
  }
  bool at(std::string_view token) {
    skip();
    return text_.substr(next_).starts_with(token);
  }
  bool take(std::string_view token) {
    if (!at(token)) return false;
    next_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail(fmt::format("expected \"{}\"", token));
  }
  [[noreturn]] void fail(std::string_view what) const {
    invalid_argument(
        fmt::format("shape signature \"{}\": {} at column {}; write for instance \"[..., n], "
                    "[n] -> [..., n]\"",
                    text_, what, next_ + 1));
  }

  static constexpr int kMostDepth = 64;

  std::string_view text_;
  size_t next_ = 0;
  int depth_ = 0;
};

// The values of names in one call.
class Match {
 public:
  explicit Match(const std::string& signature) : signature_(signature) {}

  // Sizes that need names which do not stand alone in this operand or one before wait for settle().
  void bind(const ShapePattern& pattern, ShapeDtype type, size_t operand) {
    const auto shape = type.shape();
    const size_t fixed = pattern.sizes.size();
    if (pattern.dtype && type.dtype() != *pattern.dtype) {
      fail(fmt::format("operand {} should be {}, got {}", operand, dtype_short_name(*pattern.dtype),
                       type.to_string()));
    }
    if (pattern.has_ellipsis ? shape.size() < fixed : shape.size() != fixed) {
      fail(fmt::format("operand {} should have {}{} dimensions, got {}", operand,
                       pattern.has_ellipsis ? "at least " : "", fixed, type.to_string()));
    }
    const size_t leading = shape.size() - fixed;
    if (pattern.has_ellipsis) {
      const Shape found(shape.begin(), shape.begin() + static_cast<int64_t>(leading));
      if (leading_ && *leading_ != found) {
        fail(
            fmt::format("the leading dimensions of operand {} are {}, those of operands before "
                        "are {}",
                        operand, shape_to_string(found), shape_to_string(*leading_)));
      }
      leading_ = found;
    }
    for (size_t i = 0; i < fixed; ++i) {
      const SizeSteps& size = pattern.sizes[i];
      const int64_t got = shape[leading + i];
      if (size.is_name() && sizes_.try_emplace(size.steps[0].name, got).second) continue;
      const Place place{&size, operand, leading + i, type};
      if (size.missing(sizes_).empty()) {
        check(place);
      } else {
        waiting_.push_back(place);
      }
    }
  }

  // Finds the names that stand in expressions only.
  void settle() {
    while (!waiting_.empty()) {
      const auto ready = std::ranges::find_if(
          waiting_, [&](const Place& p) { return p.size->missing(sizes_).size() <= 1; });
      const Place place = ready == waiting_.end() ? waiting_[0] : *ready;
      const std::vector<std::string> names = place.size->missing(sizes_);
      if (names.empty()) {
        check(place);
      } else {
        solve(place, names);
      }
      waiting_.erase(ready);
    }
  }

  ShapeDtype result(const ShapePattern& pattern, DType dtype) const {
    Shape shape;
    if (pattern.has_ellipsis) {
      if (!leading_) fail("\"...\" of a result appears in no operand");
      shape = *leading_;
    }
    for (const SizeSteps& size : pattern.sizes) shape.push_back(value(size));
    return {pattern.dtype.value_or(dtype), shape};
  }

 private:
  // A dimension of an operand.
  struct Place {
    const SizeSteps* size;
    size_t operand, dimension;
    ShapeDtype type;

    std::string to_string() const {
      return fmt::format("dimension {} of operand {}, {},", dimension, operand, type.to_string());
    }
    int64_t got() const { return type.shape()[dimension]; }
  };

  template <class F>
  auto computed(const F& f) const {
    try {
      return f();
    } catch (const Error& error) {
      fail(error.message());
    }
  }

  void check(const Place& place) const {
    const int64_t wanted = value(*place.size);
    if (wanted != place.got()) fail(fmt::format("{} should be {}", place.to_string(), wanted));
  }

  void solve(const Place& place, const std::vector<std::string>& names) {
    const auto is_linear = [&] { return place.size->is_linear_in(names[0], sizes_); };
    if (names.size() > 1 || !computed(is_linear)) {
      fail(
          fmt::format("{} does not tell {} from {}; let each stand alone in a dimension of an "
                      "operand",
                      place.to_string(), fmt::join(names, " and "), place.size->text));
    }
    const auto found = computed([&] { return place.size->solve(names[0], sizes_, place.got()); });
    if (!found) {
      fail(fmt::format("{} should be {} for some {}", place.to_string(), place.size->text,
                       names[0]));
    }
    sizes_.emplace(names[0], *found);
  }

  int64_t value(const SizeSteps& size) const {
    if (const auto names = size.missing(sizes_); !names.empty()) {
      fail(fmt::format("dimension {} appears in no operand", names[0]));
    }
    const int64_t found = computed([&] { return size.value(sizes_); });
    if (found < 0) fail(fmt::format("a dimension would have the size {}", found));
    return found;
  }
  [[noreturn]] void fail(std::string_view what) const {
    invalid_argument(fmt::format("shapes do not fit \"{}\": {}", signature_, what));
  }

  const std::string& signature_;
  std::optional<Shape> leading_;
  NamedSizes sizes_;
  std::vector<Place> waiting_;
};

struct ShapeSignature {
  std::string text;
  std::vector<ShapePattern> operands, results;

  std::vector<ShapeDtype> operator()(std::span<const ShapeDtype> types, const Attributes&) const {
    if (types.size() != operands.size()) {
      invalid_argument(fmt::format("shapes do not fit \"{}\": expected {} operands, got {}", text,
                                   operands.size(), types.size()));
    }
    Match match(text);
    for (size_t i = 0; i < types.size(); ++i) match.bind(operands[i], types[i], i);
    match.settle();
    const DType dtype = types.empty() ? DType::kFloat32 : types[0].dtype();
    std::vector<ShapeDtype> found;
    for (const ShapePattern& pattern : results) found.push_back(match.result(pattern, dtype));
    return found;
  }
};

}  // namespace

ShapeRule shape_signature(const std::string& text) {
  auto [operands, results] = SignatureParser(text).run();
  return ShapeSignature{text, std::move(operands), std::move(results)};
}

std::optional<SignatureOperands> operands_of_signature(const ShapeRule& rule) {
  const auto* signature = rule.target<ShapeSignature>();
  if (!signature) return std::nullopt;
  return SignatureOperands{signature->text, signature->operands.size()};
}

}  // namespace farcall
