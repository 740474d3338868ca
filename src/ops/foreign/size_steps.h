// Sizes of dimensions in shape signatures: "n", "2*n+1", "(n+7)//8".
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace farcall {

using NamedSizes = std::map<std::string, int64_t>;

// Steps that leave one number on a stack: they push a number or the size of a name, or apply an
// operation to the top two numbers.
struct SizeStep {
  enum class Kind : uint8_t { kNumber, kName, kAdd, kSubtract, kMultiply, kDivide, kModulo };
  Kind kind;
  int64_t number = 0;     // of kNumber
  std::string name = {};  // of kName
};

struct SizeSteps {
  std::string text;  // as written
  std::vector<SizeStep> steps;

  bool is_name() const { return steps.size() == 1 && steps[0].kind == SizeStep::Kind::kName; }
  // The names without a size, each once.
  std::vector<std::string> missing(const NamedSizes& sizes) const;
  // `sizes` must have all names. Division and remainder round down, as in Python. Raises
  // INVALID_ARGUMENT for a division by zero and for numbers of 2^63 or more.
  int64_t value(const NamedSizes& sizes) const;
  // The size of `name`, the only one that is missing, with which the value is `wanted`. No value if
  // there is none, or if the value is not linear in this name.
  std::optional<int64_t> solve(const std::string& name, NamedSizes sizes, int64_t wanted) const;
  bool is_linear_in(const std::string& name, NamedSizes sizes) const;
};

}  // namespace farcall
