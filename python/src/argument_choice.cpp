#include "argument_choice.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>

namespace farcall::python {

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

}  // namespace farcall::python
