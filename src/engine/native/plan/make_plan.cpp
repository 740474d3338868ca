// The steps of planning, in order.
#include <algorithm>

#include <farcall/core/sizes.h>

#include "engine/native/plan/instructions.h"

namespace farcall::native {

Plan::Plan() = default;
Plan::~Plan() = default;

std::unique_ptr<const Plan> make_plan(ProgramPtr owner, PlanOptions options) {
  GroupedProgram grouped = group_equations(std::move(owner), options.runs_long);
  const Program& program = *grouped.program;
  options.donated_inputs.resize(program.inputs.size(), false);
  const Uses uses = uses_of(program, grouped.groups);
  const ForeignCalls calls(program);
  const Layouts layouts(program, uses, calls);
  Sharing sharing = share_memory(program, options, uses, calls, layouts);
  Allocator allocator(program, options, uses, sharing.sets);

  auto plan = std::make_unique<Plan>();
  Instructions instructions({program, uses, calls, layouts, sharing, options.is_nested}, allocator,
                            *plan);
  instructions.choose_memory_ahead();
  size_t next = 0;
  for (const EquationGroup group : grouped.groups) {
    for (; next < group.begin; ++next) instructions.add_group({next, next + 1});
    instructions.add_group(group);
    next = group.end;
  }
  for (; next < program.equations.size(); ++next) instructions.add_group({next, next + 1});
  instructions.add_outputs(options);

  for (const PointerUse& use : plan->pointers) {
    if (use.allocation.kind == Allocation::Kind::kInput ||
        use.allocation.kind == Allocation::Kind::kOutput) {
      plan->run_pointers.push_back(use);
    }
  }
  if (!options.is_nested) {
    plan->input_shardings = input_shardings(program);
    plan->output_shardings = output_shardings(program);
  }
  plan->constants = allocator.take_constants();
  plan->overwrites = allocator.overwrites();
  plan->arena_bytes = allocator.arena_bytes();
  memory_sum(plan->arena_bytes, plan->scratch_bytes);  // one block: raises if it is too large
  const Cost cost = program.cost();
  plan->cost = std::max(cost.flops, cost.bytes);
  plan->program = std::move(grouped.program);
  return plan;
}

}  // namespace farcall::native
