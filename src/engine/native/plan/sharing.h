// Sharing: which equations put results into the memory of operands.
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
  // By equation and alias of a foreign call: why it is not honoured; empty where it is.
  std::vector<std::vector<std::string>> refusals;
  std::vector<PlannedRegion> regions;  // by equation; without a region for other equations
};

// Plans the programs inside of loops and branches too, since what they share decides what the
// equation may share. Raises what planning them raises.
Sharing share_memory(const Program& program, const PlanOptions& options, const Uses& uses,
                     const ForeignCalls& calls, const Layouts& layouts);

}  // namespace farcall::native
