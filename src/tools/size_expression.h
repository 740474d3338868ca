// Sizes as people write them: "N", "64", "2*M+1", "(N+7)//8".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace farcall::tools {

using Sizes = std::map<std::string, int64_t>;  // of the letters

// Numbers, letters, + - * and parentheses; // and % round down, as in Python.
class SizeExpression {
 public:
  // Raises Failure(kUsage): `what` stands before what is wrong with the text.
  SizeExpression(std::string_view text, const std::string& what);

  const std::vector<std::string>& letters() const { return letters_; }  // each once, in order
  // Each letter has a size. Not a number where it divides by zero.
  double value(const Sizes& sizes) const;
  // None where the value is negative, no whole number, or beyond 2^53.
  std::optional<int64_t> size(const Sizes& sizes) const;
  const std::string& to_string() const { return text_; }  // as written, without spaces

 private:
  friend class SizeParser;
  struct Step {
    char operation;     // 'n': push the number, 'l': push a letter; else of the two on top
    double number = 0;  // 'n'
    size_t letter = 0;  // 'l': in letters_
  };
  std::string text_;
  std::vector<std::string> letters_;
  std::vector<Step> steps_;  // operands come before their operation
};

}  // namespace farcall::tools
