// The checks that derivatives of functions over trees have in common.
#pragma once

#include <span>
#include <vector>

#include <farcall/trace/tree_call.h>

namespace farcall::detail {

struct InputRules {
  bool holomorphic = false;
  bool allow_int = false;
  bool allow_complex = false;
};
// Raise TypeError naming the argument or the result.
void check_inputs(const TreeCall& call, const std::vector<bool>& varies, const InputRules& rules);
void check_outputs(const TreeCall& call, std::span<const Array> outputs, bool holomorphic);

}  // namespace farcall::detail
