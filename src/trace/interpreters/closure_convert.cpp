#include <farcall/trace/closure_convert.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/record.h>
#include <farcall/trace/rules.h>
#include <farcall/trace/varying.h>

namespace farcall::detail {

std::vector<Array> ConvertedCall::hoisted() const {
  std::vector<Array> arrays;
  for (size_t i = 0; i < closed_over.size(); ++i) {
    if (is_hoisted[i]) arrays.push_back(closed_over[i]);
  }
  return arrays;
}

std::vector<Array> ConvertedCall::run(const TreeDef& tree, std::span<const Array> leaves,
                                      std::span<const Array> hoisted) const {
  if (!(tree == arguments)) {
    throw TypeError(
        fmt::format("closure_convert: the function was recorded for arguments of "
                    "structure {}, got {}",
                    arguments.to_string(), tree.to_string()));
  }
  std::vector<Array> inputs = closed_over;
  size_t next = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_hoisted[i]) continue;
    if (next < hoisted.size()) inputs[i] = hoisted[next];
    ++next;
  }
  if (next != hoisted.size()) {
    invalid_argument(fmt::format("closure_convert: the function takes {} hoisted arrays, got {}",
                                 next, hoisted.size()));
  }
  inputs.insert(inputs.end(), leaves.begin(), leaves.end());
  return evaluate(*program, inputs);
}

ConvertedCall convert_closure(TreeCall& call) {
  Recording recording = record_with_constants(call.as_function(), types_of(call.leaves()),
                                              varying_axes(call.leaves()), call.where());
  std::vector<bool> is_hoisted;
  for (const Array& array : recording.captured) is_hoisted.push_back(has_tangent(array.type()));
  return {std::move(recording.program), call.arguments(), call.result_tree(),
          std::move(recording.captured), std::move(is_hoisted)};
}

}  // namespace farcall::detail
