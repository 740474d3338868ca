// Checks that grad and the Jacobians share.
#pragma once

#include <span>
#include <vector>

#include <farcall/trace/leaf_call.h>

namespace farcall::detail {

struct InputRules {
  bool holomorphic = false;
  bool allow_int = false;
  bool allow_complex = false;
};
// Raise TypeError naming the argument or the result.
void check_inputs(const LeafCall& call, const std::vector<bool>& varies, const InputRules& rules);
void check_outputs(const LeafCall& call, std::span<const Array> outputs, bool holomorphic);

}  // namespace farcall::detail
