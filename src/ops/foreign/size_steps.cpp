#include "ops/foreign/size_steps.h"

#include <algorithm>

#include <farcall/core/error.h>
#include <farcall/core/sizes.h>

namespace farcall {
namespace {

// Rounds down.
int64_t quotient(int64_t a, int64_t b) {
  if (b == 0) invalid_argument("a division by zero");
  if (b == -1) return checked_difference(0, a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t apply(SizeStep::Kind kind, int64_t a, int64_t b) {
  switch (kind) {
    case SizeStep::Kind::kAdd:
      return checked_sum(a, b);
    case SizeStep::Kind::kSubtract:
      return checked_difference(a, b);
    case SizeStep::Kind::kMultiply:
      return checked_product(a, b);
    case SizeStep::Kind::kDivide:
      return quotient(a, b);
    default:
      return checked_difference(a, checked_product(quotient(a, b), b));
  }
}

}  // namespace

std::vector<std::string> SizeSteps::missing(const NamedSizes& sizes) const {
  std::vector<std::string> names;
  for (const SizeStep& step : steps) {
    if (step.kind != SizeStep::Kind::kName || sizes.contains(step.name)) continue;
    if (std::ranges::find(names, step.name) == names.end()) names.push_back(step.name);
  }
  return names;
}

int64_t SizeSteps::value(const NamedSizes& sizes) const {
  std::vector<int64_t> stack;
  for (const SizeStep& step : steps) {
    if (step.kind == SizeStep::Kind::kNumber) {
      stack.push_back(step.number);
    } else if (step.kind == SizeStep::Kind::kName) {
      stack.push_back(sizes.at(step.name));
    } else {
      const int64_t right = stack.back();
      stack.pop_back();
      stack.back() = apply(step.kind, stack.back(), right);
    }
  }
  return stack.back();
}

bool SizeSteps::is_linear_in(const std::string& name, NamedSizes sizes) const {
  const auto rounds = [](const SizeStep& step) {
    return step.kind == SizeStep::Kind::kDivide || step.kind == SizeStep::Kind::kModulo;
  };
  if (std::ranges::any_of(steps, rounds)) return false;
  const auto at = [&](int64_t size) {
    sizes[name] = size;
    return value(sizes);
  };
  const int64_t step = at(1) - at(0);
  return step != 0 && at(2) - at(1) == step && at(3) - at(2) == step;
}

std::optional<int64_t> SizeSteps::solve(const std::string& name, NamedSizes sizes,
                                        int64_t wanted) const {
  if (!is_linear_in(name, sizes)) return std::nullopt;
  const auto at = [&](int64_t size) {
    sizes[name] = size;
    return value(sizes);
  };
  const int64_t found = quotient(checked_difference(wanted, at(0)), at(1) - at(0));
  if (found < 0 || at(found) != wanted) return std::nullopt;
  return found;
}

}  // namespace farcall
