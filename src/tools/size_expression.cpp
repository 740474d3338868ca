#include "tools/size_expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include <farcall/core/quote.h>

#include "tools/failure.h"

namespace farcall::tools {

// A recursive descent parser. Each rule emits steps that push its value on the stack.
class SizeParser {
 public:
  SizeParser(SizeExpression& made, const std::string& what)
      : made_(made), what_(what), rest_(made.text_) {}

  void parse() {
    sum();
    if (!rest_.empty()) fail();
  }

 private:
  static constexpr int kMostDepth = 64;

  void sum() {
    product();
    while (rest_.starts_with('+') || rest_.starts_with('-')) {
      const char operation = take(1);
      product();
      made_.steps_.push_back({operation});
    }
  }

  void product() {
    atom();
    while (true) {
      if (rest_.starts_with("**")) fail("write N*N for a power");
      const size_t length = rest_.starts_with("//")                            ? 2
                            : rest_.starts_with('*') || rest_.starts_with('%') ? 1
                                                                               : 0;
      if (length == 0) return;
      const char operation = take(length);
      atom();
      made_.steps_.push_back({operation});
    }
  }

  void atom() {
    if (++depth_ > kMostDepth) fail();
    if (rest_.starts_with('(')) {
      take(1);
      sum();
      if (!rest_.starts_with(')')) fail("a \")\" is missing");
      take(1);
    } else if (rest_.starts_with('-')) {
      take(1);
      made_.steps_.push_back({'n', 0});
      atom();
      made_.steps_.push_back({'-'});
    } else if (!rest_.empty() && (std::isdigit(front()) || rest_.front() == '.')) {
      number();
    } else {
      letter();
    }
    --depth_;
  }

  void number() {
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) fail();
    take(static_cast<size_t>(end - rest_.data()));
    if (!rest_.empty() && (std::isalpha(front()) || rest_.front() == '('))
      fail("write * between factors");
    made_.steps_.push_back({'n', value});
  }

  void letter() {
    size_t length = 0;
    while (length < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[length])) || rest_[length] == '_'))
      ++length;
    const std::string name(rest_.substr(0, length));
    if (!is_identifier(name)) fail();
    take(length);
    auto& letters = made_.letters_;
    const auto found = std::ranges::find(letters, name);
    const auto index = static_cast<size_t>(found - letters.begin());
    if (found == letters.end()) letters.push_back(name);
    made_.steps_.push_back({'l', 0, index});
  }

  int front() const { return static_cast<unsigned char>(rest_.front()); }
  char take(size_t length) {
    const char first = rest_.front();
    rest_.remove_prefix(length);
    return first;
  }

  [[noreturn]] void fail(std::string_view hint = "") const {
    std::string how(hint);
    if (how.empty() && rest_.starts_with('/')) how = "write // for a division; it rounds down";
    if (how.empty() && rest_.starts_with('^')) how = "write N*N for a power";
    if (how.empty()) how = "write numbers and letters with + - * // % and (), such as 2*N+1";
    const std::string where = rest_.empty() ? "" : fmt::format(" at \"{}\"", rest_);
    throw Failure(kUsage,
                  fmt::format("{}: \"{}\" is not a size{}: {}.", what_, made_.text_, where, how));
  }

  SizeExpression& made_;
  const std::string& what_;
  std::string_view rest_;
  int depth_ = 0;
};

SizeExpression::SizeExpression(std::string_view text, const std::string& what) : text_(text) {
  std::erase(text_, ' ');
  SizeParser(*this, what).parse();
}

double SizeExpression::value(const Sizes& sizes) const {
  std::vector<double> stack;
  for (const Step& step : steps_) {
    if (step.operation == 'n') {
      stack.push_back(step.number);
      continue;
    }
    if (step.operation == 'l') {
      stack.push_back(static_cast<double>(sizes.at(letters_[step.letter])));
      continue;
    }
    const double right = stack.back();
    stack.pop_back();
    double& left = stack.back();
    if (step.operation == '+') left += right;
    if (step.operation == '-') left -= right;
    if (step.operation == '*') left *= right;
    if (step.operation == '%') left -= right * std::floor(left / right);
    if (step.operation == '/') left = right == 0 ? std::nan("") : std::floor(left / right);
  }
  return stack.back();
}

std::optional<int64_t> SizeExpression::size(const Sizes& sizes) const {
  constexpr double kMost = 9007199254740992;  // 2^53
  const double found = value(sizes);
  if (!(found >= 0 && found <= kMost) || found != std::floor(found)) return std::nullopt;
  return static_cast<int64_t>(found);
}

}  // namespace farcall::tools
