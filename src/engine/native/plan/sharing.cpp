#include "engine/native/plan/sharing.h"

#include <algorithm>

#include <farcall/core/interrupt.h>
#include <farcall/program/located.h>

#include "engine/native/kernel.h"
#include "engine/native/transposes.h"

namespace farcall::native {
namespace {

// Aliases of a foreign call. If two results are aliased to one operand, one of them gets its
// memory, the other gets a copy. A result that is then copied into another layout does not stay
// there.
std::vector<std::string> share_foreign_call(const Program& program, size_t index,
                                            const FfiCallParams& call, const Layouts& layouts,
                                            AliasSets& sets) {
  const Equation& equation = program.equations[index];
  std::vector<uint32_t> taken;
  const auto num_aliases = [&](uint32_t set) {
    return static_cast<size_t>(std::ranges::count_if(
        call.input_output_aliases,
        [&](const auto& alias) { return sets.contains(set, equation.inputs[alias.first]); }));
  };
  const auto why_not = [&](size_t input) -> std::string {
    const Atom operand = equation.inputs[input];
    if (!operand.is_variable()) return sets.why_not_overwrite(index, input);
    const uint32_t set = sets.representative(operand.index);
    if (std::ranges::find(taken, set) != taken.end()) {
      return "another result has the operand's memory";
    }
    return sets.why_not_overwrite(index, input, num_aliases(set) - 1);
  };
  std::vector<std::string> refusals;
  for (const auto& [input, output] : call.input_output_aliases) {
    const Atom operand = equation.inputs[input];
    std::string refusal;
    // A token has no memory.
    if (!call.result_types[output].is_token()) {
      refusal = is_same_in_memory(call.result_types[output], layouts.of(operand),
                                  call.input_layouts[input])
                    ? why_not(input)
                    : "the operand is copied into another layout";
      if (refusal.empty()) {
        taken.push_back(sets.representative(operand.index));
        const uint32_t result = equation.outputs[output];
        if (is_same_in_memory(call.result_types[output], call.output_layouts[output],
                              layouts.of(result))) {
          sets.add(result, operand.index);
        }
      }
    }
    refusals.push_back(std::move(refusal));
  }
  return refusals;
}

// What the region updates in place may use the operand's memory.
void share_region(const Equation& equation, size_t index, const InPlace& in_place,
                  AliasSets& sets) {
  for (const auto& [operand, result] : in_place) {
    if (sets.why_not_overwrite(index, operand).empty()) {
      sets.add(equation.outputs[result], equation.inputs[operand].index);
    }
  }
}

// Views of the first operand, and kernels that update a copy of it.
void share_first_operand(const Equation& equation, size_t index, const Layouts& layouts,
                         AliasSets& sets) {
  const bool is_view = equation.primitive->kind == PrimitiveKind::kView;
  if (!is_view && (trait_of_kernel(equation.primitive->name) != KernelTrait::kUpdatesFirstInput ||
                   !sets.why_not_overwrite(index, 0).empty())) {
    return;
  }
  const Atom operand = equation.inputs[0];
  if (operand.is_variable() && !layouts.of(operand)) sets.add(equation.outputs[0], operand.index);
}

}  // namespace

Sharing share_memory(const Program& program, const PlanOptions& options, const Uses& uses,
                     const ForeignCalls& calls, const Layouts& layouts) {
  const size_t count = program.equations.size();
  Sharing sharing{AliasSets(program, options, uses), std::vector<std::vector<std::string>>(count),
                  std::vector<PlannedRegion>(count)};
  size_t num_children = 0;
  for (size_t i = 0; i < count; ++i) {
    poll_interrupt(i);
    const Equation& equation = program.equations[i];
    PlannedRegion& region = sharing.regions[i];
    with_location(equation,
                  [&] { region = plan_region(program, i, sharing.sets, layouts, num_children); });
    num_children += region.children.size();
    if (layouts.is_free_transpose(i)) {
      sharing.sets.add(equation.outputs[0], equation.inputs[0].index);
    } else if (const FfiCallParams* call = calls.at(i)) {
      sharing.refusals[i] = share_foreign_call(program, i, *call, layouts, sharing.sets);
    } else if (region.region) {
      share_region(equation, i, region.in_place, sharing.sets);
    } else if (!is_transpose(equation)) {
      share_first_operand(equation, i, layouts, sharing.sets);
    }
  }
  return sharing;
}

}  // namespace farcall::native
