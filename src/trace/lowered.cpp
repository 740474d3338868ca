#include <farcall/trace/lowered.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/program/text.h>
#include <farcall/trace/jit.h>

namespace farcall {
namespace detail {

std::shared_ptr<const Executable> LoweredCall::compile() const {
  return farcall::compile(program, *place_of_call(where, {}, device).device, donated);
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
  return run_donating(executable, leaves, place_of_call(where, {}, device).is_committed);
}

}  // namespace detail

std::string LoweredProgram::as_text() const { return to_text(*call_.program); }

}  // namespace farcall
