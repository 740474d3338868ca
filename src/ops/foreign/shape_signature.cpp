// Shape rules as text: "[..., n], [n] -> [..., n], [...]".
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/define.h>

namespace farcall {
namespace {

constexpr std::string_view kTooLarge = "a dimension would be 2^63 or more";

// A product of a number and names, such as "2*n", which is added to or subtracted from others.
struct SizeTerm {
  int64_t factor = 1;
  std::vector<std::string> names;
};
using Size = std::vector<SizeTerm>;

struct ShapePattern {
  std::optional<DType> dtype;  // without a value: that of the first operand
  bool has_ellipsis = false;
  std::vector<Size> sizes;  // after the ellipsis, if any
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

  Size size() {
    Size sum{term(1)};
    for (;;) {
      if (take("+")) {
        sum.push_back(term(1));
      } else if (!at("->") && take("-")) {
        sum.push_back(term(-1));
      } else {
        return sum;
      }
    }
  }

  SizeTerm term(int64_t sign) {
    SizeTerm product{sign, {}};
    do {
      const std::string factor = word();
      if (factor.empty()) fail("expected the name of a dimension or a number");
      if (std::isdigit(static_cast<unsigned char>(factor[0]))) {
        int64_t number = 0;
        const char* end = factor.data() + factor.size();
        const auto read = std::from_chars(factor.data(), end, number);
        if (read.ec != std::errc() || read.ptr != end) {
          fail(fmt::format("{} is not a number below 2^63", factor));
        }
        if (__builtin_mul_overflow(product.factor, number, &product.factor)) {
          fail("a product is 2^63 or more");
        }
      } else {
        product.names.push_back(factor);
      }
    } while (take("*"));
    return product;
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

  std::string_view text_;
  size_t next_ = 0;
};

// The values of names in one call.
class Match {
 public:
  explicit Match(const std::string& signature) : signature_(signature) {}

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
      const Size& size = pattern.sizes[i];
      const int64_t got = shape[leading + i];
      const bool is_name = size.size() == 1 && size[0].names.size() == 1 && size[0].factor == 1;
      if (is_name && sizes_.try_emplace(size[0].names[0], got).second) continue;
      if (const int64_t wanted = value(size); wanted != got) {
        fail(fmt::format("dimension {} of operand {}, {}, should be {}", leading + i, operand,
                         type.to_string(), wanted));
      }
    }
  }

  ShapeDtype result(const ShapePattern& pattern, DType dtype) const {
    Shape shape;
    if (pattern.has_ellipsis) {
      if (!leading_) fail("\"...\" of a result appears in no operand");
      shape = *leading_;
    }
    for (const Size& size : pattern.sizes) shape.push_back(value(size));
    return {pattern.dtype.value_or(dtype), shape};
  }

 private:
  int64_t value(const Size& size) const {
    int64_t sum = 0;
    for (const SizeTerm& term : size) {
      int64_t product = term.factor;
      for (const std::string& name : term.names) {
        const auto it = sizes_.find(name);
        if (it == sizes_.end()) fail(fmt::format("dimension {} appears in no operand", name));
        if (__builtin_mul_overflow(product, it->second, &product)) fail(kTooLarge);
      }
      if (__builtin_add_overflow(sum, product, &sum)) fail(kTooLarge);
    }
    if (sum < 0) fail(fmt::format("a dimension would have the size {}", sum));
    return sum;
  }
  [[noreturn]] void fail(std::string_view what) const {
    invalid_argument(fmt::format("shapes do not fit \"{}\": {}", signature_, what));
  }

  const std::string& signature_;
  std::optional<Shape> leading_;
  std::map<std::string, int64_t> sizes_;
};

}  // namespace

std::function<std::vector<ShapeDtype>(std::span<const ShapeDtype>, const Attributes&)>
shape_signature(const std::string& text) {
  auto [operands, results] = SignatureParser(text).run();
  return [text, operands = std::move(operands), results = std::move(results)](
             std::span<const ShapeDtype> types, const Attributes&) {
    if (types.size() != operands.size()) {
      invalid_argument(fmt::format("shapes do not fit \"{}\": expected {} operands, got {}", text,
                                   operands.size(), types.size()));
    }
    Match match(text);
    for (size_t i = 0; i < types.size(); ++i) match.bind(operands[i], types[i], i);
    const DType dtype = types.empty() ? DType::kFloat32 : types[0].dtype();
    std::vector<ShapeDtype> found;
    for (const ShapePattern& pattern : results) found.push_back(match.result(pattern, dtype));
    return found;
  };
}

}  // namespace farcall
