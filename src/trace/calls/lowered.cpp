#include <farcall/trace/lowered.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/program/text.h>
#include <farcall/trace/jit.h>

#include "trace/sharding/placed_call.h"

namespace farcall {
namespace detail {

std::shared_ptr<const Executable> LoweredCall::compile() const {
  return farcall::compile(program, *place_of_call(where, {}, device).device, donated);
}

DividedRun LoweredCall::divided(const std::shared_ptr<const Executable>& executable) const {
  Shardings all = shardings;
  all.resize(program->inputs.size());
  for (size_t i = 0; i < in_shardings.size(); ++i) {
    if (in_shardings[i]) all[i] = in_shardings[i];
  }
  return divided_run(executable, all);
}

std::vector<Array> LoweredCall::run(const Executable& executable, const TreeDef& tree,
                                    std::span<const Array> leaves,
                                    const std::function<std::string(size_t)>& name_of) const {
  if (!(tree == arguments)) {
    throw TypeError(fmt::format("compiled {}: it takes arguments of structure {}, got {}", where,
                                arguments.to_string(), tree.to_string()));
  }
  const auto types = executable.input_types();
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].type().strengthened() == types[i].strengthened()) continue;
    throw TypeError(fmt::format("compiled {}: {} should be {}, got {}", where, name_of(i),
                                types[i].to_string(), leaves[i].type().to_string()));
  }
  const bool is_committed = place_of_call(where, {}, device).is_committed;
  if (in_shardings.empty() && out_shardings.empty()) {
    return run_donating(executable, leaves, is_committed);
  }
  const std::vector<Array> placed = place_inputs(leaves, in_shardings, out_shardings);
  return place_results(run_donating(executable, placed, is_committed), out_shardings);
}

}  // namespace detail

std::string LoweredProgram::as_text() const { return to_text(*call_.program); }

}  // namespace farcall
