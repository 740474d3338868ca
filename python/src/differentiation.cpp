#include "differentiation.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>

namespace farcall::python {
namespace {

constexpr std::string_view kForHolomorphic =
    "For the derivative of a holomorphic function give holomorphic=True; for other functions of "
    "complex numbers use jvp or vjp";

}  // namespace

ArgumentChoice::ArgumentChoice(const std::string& where, const std::vector<int64_t>& argnums,
                               nb::tuple args, nb::dict kwargs) {
  const auto count = static_cast<int64_t>(nb::len(args));
  std::vector<size_t> positions;
  for (const int64_t number : argnums) {
    if (number < -count || number >= count) {
      throw TypeError(
          fmt::format("{}: differentiating with respect to argnums ({}) needs that many positional "
                      "arguments, but {} were given; keyword arguments cannot be chosen",
                      where, fmt::join(argnums, ", "), count));
    }
    positions.push_back(static_cast<size_t>(number < 0 ? number + count : number));
  }
  std::vector<size_t> sorted = positions;
  std::ranges::sort(sorted);
  const auto repeated = std::ranges::unique(sorted);
  sorted.erase(repeated.begin(), repeated.end());
  for (const size_t position : positions) {
    const auto at = std::ranges::lower_bound(sorted, position);
    chosen_.push_back(static_cast<size_t>(at - sorted.begin()));
  }
  arguments_ = choose_arguments(args, kwargs, sorted);
}

nb::object ArgumentChoice::in_order(nb::handle by_position, bool is_single) const {
  if (is_single) return by_position[chosen_[0]];
  nb::list ordered;
  for (const size_t i : chosen_) ordered.append(by_position[i]);
  return nb::tuple(ordered);
}

void check_inputs(const std::string& where, const CallArguments& arguments,
                  std::span<const Array> inputs, const InputRules& rules) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const DType dtype = inputs[i].dtype();
    const bool is_allowed =
        rules.holomorphic
            ? is_complex(dtype)
            : is_floating(dtype) || (is_complex(dtype) ? rules.allow_complex : rules.allow_int);
    if (is_allowed) continue;
    const std::string what = fmt::format("{}: {} is {}", where, describe_leaf(arguments, i),
                                         inputs[i].type().strengthened().to_string());
    if (rules.holomorphic) {
      throw TypeError(fmt::format("{}; with holomorphic=True it must be complex", what));
    }
    if (is_complex(dtype)) {
      throw TypeError(fmt::format("{}, but must be real. {}", what, kForHolomorphic));
    }
    throw TypeError(
        fmt::format("{}; derivatives are with respect to floats{}. Make it a float, choose other "
                    "argnums, or give allow_int=True where there is such an option",
                    what, rules.allow_complex ? " or complex numbers" : ""));
  }
}

void check_outputs(const std::string& where, const TreeDef& tree, std::span<const Array> outputs,
                   bool holomorphic) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const DType dtype = outputs[i].dtype();
    if (holomorphic ? is_complex(dtype) : is_floating(dtype)) continue;
    const std::string what =
        fmt::format("{}: the function's result{} is {}", where, leaf_path(tree, i),
                    outputs[i].type().strengthened().to_string());
    if (holomorphic) {
      throw TypeError(fmt::format("{}; with holomorphic=True it must be complex", what));
    }
    if (is_complex(dtype)) {
      throw TypeError(fmt::format("{}, but must be real. {}", what, kForHolomorphic));
    }
    throw TypeError(fmt::format("{}, but must be a float; for other results use vjp", what));
  }
}

}  // namespace farcall::python
