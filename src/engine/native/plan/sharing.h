// Sharing: which equations put their results into the memory of operands.
#pragma once

#include <string>
#include <vector>

#include "engine/native/plan/alias_sets.h"
#include "engine/native/plan/foreign_calls.h"
#include "engine/native/plan/layouts.h"
#include "engine/native/plan/regions.h"

namespace farcall::native {

struct Sharing {
  AliasSets sets;
  // By equation and alias of a foreign call: why the alias is not honoured; empty if it is.
  std::vector<std::vector<std::string>> refusals;
  std::vector<PlannedRegion> regions;  // by equation; empty unless a loop or branch
};

// Also plans the programs inside loops and branches: what they share decides what the equation may
// share. Raises what planning them raises.
Sharing share_memory(const Program& program, const PlanOptions& options, const Uses& uses,
                     const ForeignCalls& calls, const Layouts& layouts);

}  // namespace farcall::native
