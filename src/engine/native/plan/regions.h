// Loops and branches in a plan: the plans of the programs inside, and what they update in place.
#pragma once

#include <memory>
#include <vector>

#include <farcall/program/program.h>

#include "engine/native/plan.h"
#include "engine/native/plan/alias_sets.h"
#include "engine/native/plan/layouts.h"
#include "engine/native/region.h"

namespace farcall::native {

struct PlannedRegion {
  std::unique_ptr<Region> region;
  Instruction::Kind kind = Instruction::Kind::kScan;
  std::vector<std::unique_ptr<const Plan>> children;
  std::vector<Carry> carries;
  InPlace in_place;                // operands and results that share memory inside
  std::vector<size_t> overwrites;  // operands that it writes over; a loop copies its carry first
  int64_t alias_copies = 0;        // made by branches
};

// Plans a loop or branch; `first_child` is the plan's number of its first child. For other
// equations the result has no region. Raises what planning the programs inside raises.
PlannedRegion plan_region(const Program& program, size_t equation, const AliasSets& sets,
                          const Layouts& layouts, size_t first_child);

}  // namespace farcall::native
