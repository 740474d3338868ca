#include <farcall/trace/tree_call.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/origin.h>

namespace farcall::detail {

LeafCall::~LeafCall() = default;

std::vector<Array> LeafCall::operator()(std::span<const Array> inputs) {
  std::vector<Array> all(inputs.begin(), inputs.end());
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (all[i].is_null()) all[i] = leaves_[i];
  }
  const TracedCallScope scope(where_, all, [this](size_t leaf) { return parameter_name(leaf); });
  return run(all);
}

std::string LeafCall::result_name(size_t leaf) const {
  return "result" + leaf_path(result_tree_, leaf);
}

size_t TreeCall::first_leaf(size_t argument) const {
  size_t first = 0;
  for (size_t i = 0; i < argument; ++i) first += arguments_.children()[i].num_leaves();
  return first;
}

std::vector<bool> TreeCall::belong_to(std::span<const int> numbers) const {
  std::vector<bool> flags;
  for (size_t i = 0; i < arguments_.children().size(); ++i) {
    const bool does = std::ranges::find(numbers, static_cast<int>(i)) != numbers.end();
    flags.insert(flags.end(), arguments_.children()[i].num_leaves(), does);
  }
  return flags;
}

std::string argument_name(const TreeDef& arguments, size_t leaf) {
  const std::string path = leaf_path(arguments, leaf);  // begins with "[0]"
  const size_t end = path.find(']');
  return fmt::format("argument {}{}", path.substr(1, end - 1), path.substr(end + 1));
}

std::string TreeCall::argument_name(size_t leaf) const {
  return detail::argument_name(arguments_, leaf);
}

}  // namespace farcall::detail
