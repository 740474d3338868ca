// Sizes of dimensions as written by users: "N", "64", "2*M+1", "(N+7)//8".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace farcall::tools {

using Sizes = std::map<std::string, int64_t>;  // by letter

// An expression of numbers, letters, + - * and parentheses; // and % round down, as in Python.
class SizeExpression {
 public:
  // Raises Failure(kUsage) with a message that begins with `what`.
  SizeExpression(std::string_view text, const std::string& what);

  const std::vector<std::string>& letters() const { return letters_; }  // each once, in order
  // `sizes` must have a size for each letter. NaN for a division by zero.
  double value(const Sizes& sizes) const;
  // No value if the result is negative, not an integer, or above 2^53.
  std::optional<int64_t> size(const Sizes& sizes) const;
  const std::string& to_string() const { return text_; }  // as written, without spaces

 private:
  friend class SizeParser;
  struct Step {
    char operation;     // 'n': push a number, 'l': push a letter; otherwise applied to the top two
    double number = 0;  // for 'n'
    size_t letter = 0;  // for 'l': index in letters_
  };
  std::string text_;
  std::vector<std::string> letters_;
  std::vector<Step> steps_;  // in postfix order
};

}  // namespace farcall::tools
