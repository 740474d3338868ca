// A cluster while it is planned.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/native/kernels/clusters/cluster_code.h"
#include "engine/native/kernels/clusters/cluster_steps.h"

namespace farcall::native {

// Its steps, the runs of steps that have machine code, and what is planned so far.
struct ClusterDraft {
  explicit ClusterDraft(ClusterSteps made)
      : steps(std::move(made)), plan(std::make_shared<ClusterPlan>(std::move(steps.plan))) {}

  ClusterSteps steps;
  std::shared_ptr<ClusterPlan> plan;
  std::vector<CodedRun> runs;
  std::map<size_t, size_t> runs_of_steps;

  // The run of a step; null if it has none.
  const CodedRun* run_of(size_t step) const {
    const auto found = runs_of_steps.find(step);
    return found == runs_of_steps.end() ? nullptr : &runs[found->second];
  }

  // Whether machine code keeps the result of the step in registers of the processor.
  bool is_in_registers(size_t step) const {
    const CodedRun* const run = run_of(step);
    if (!run) return false;
    const auto number = std::ranges::find(run->registers, steps.drafts[step].output);
    return !run->code.values[static_cast<size_t>(number - run->registers.begin())].pointer;
  }

  // The elements that a tile has of a value.
  int64_t multiple(Extent extent) const {
    switch (extent) {
      case Extent::kRow:
        return plan->tile_rows;
      case Extent::kColumn:
        return plan->tile_columns;
      case Extent::kFull:
        return plan->tile_rows * plan->tile_columns;
      default:
        return 1;
    }
  }
};

}  // namespace farcall::native
