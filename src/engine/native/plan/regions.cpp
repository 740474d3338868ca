#include "engine/native/plan/regions.h"

#include <algorithm>
#include <optional>
#include <span>

#include <farcall/primitives/callback.h>
#include <farcall/primitives/control_flow.h>
#include <farcall/primitives/ffi_call.h>

#include "engine/native/kernel.h"

namespace farcall::native {
namespace {

// A step may overwrite the carry: the loop owns it after the first step, and the first step gets a
// copy if it overwrites it.
PlanOptions step_options(const Program& step, size_t first_carry, size_t num_carry) {
  PlanOptions options{.is_nested = true};
  options.donated_inputs.resize(step.inputs.size(), false);
  for (size_t i = 0; i < num_carry; ++i) {
    options.donated_inputs[first_carry + i] = true;
    options.in_place.emplace_back(first_carry + i, i);
  }
  return options;
}

// Whether the output is in the memory of the input.
bool is_in_input(const Plan& plan, size_t input, size_t output) {
  const Allocation allocation = plan.outputs[output].allocation;
  return allocation.kind == Allocation::Kind::kInput && allocation.index == input;
}

std::vector<Carry> carries_of(const Plan& step, size_t first_carry, size_t num_carry) {
  std::vector<Carry> carries;
  for (size_t i = 0; i < num_carry; ++i) {
    const bool is_in_place = is_in_input(step, first_carry + i, i);
    const bool overwrites = step.overwrites[first_carry + i];
    carries.push_back({.nbytes = step.outputs[i].nbytes,
                       .is_invariant = is_in_place && !overwrites,
                       .is_in_place = is_in_place && overwrites,
                       .overwrites = overwrites});
  }
  return carries;
}

std::vector<int64_t> slice_bytes(std::span<const ShapeDtype> slices) {
  std::vector<int64_t> bytes;
  for (const ShapeDtype& slice : slices) bytes.push_back(static_cast<int64_t>(slice.nbytes()));
  return bytes;
}

// The carries that a loop keeps in place.
InPlace in_place_of(const std::vector<Carry>& carries, size_t first_carry) {
  InPlace pairs;
  for (size_t i = 0; i < carries.size(); ++i) {
    if (carries[i].is_in_place) pairs.emplace_back(first_carry + i, i);
  }
  return pairs;
}

using Under = std::vector<std::optional<size_t>>;
Under inputs_under_outputs(const Program& program);

// For each result: the operand whose memory it uses if all operands may be overwritten.
Under operands_under_results(const Equation& equation) {
  const Primitive& primitive = *equation.primitive;
  Under under(equation.outputs.size());
  const auto take_carry = [&](int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) under[static_cast<size_t>(i)] = first + i;
  };
  const CallbackParams* callback = try_callback(equation.params.get());
  if (primitive.is_foreign()) {
    for (const auto& [input, output] :
         callback ? callback->input_output_aliases
                  : params_as<FfiCallParams>(equation.params.get()).input_output_aliases) {
      under[static_cast<size_t>(output)] = input;
    }
  } else if (primitive.kind == PrimitiveKind::kScan) {
    const auto& p = params_as<ScanParams>(equation.params.get());
    take_carry(p.num_consts, p.num_carry);
  } else if (primitive.kind == PrimitiveKind::kWhile) {
    const auto& p = params_as<WhileParams>(equation.params.get());
    take_carry(p.cond_nconsts + p.body_nconsts, std::ssize(under));
  } else if (primitive.kind == PrimitiveKind::kCond) {
    for (const ProgramPtr& branch : params_as<CondParams>(equation.params.get()).branches) {
      const Under inputs = inputs_under_outputs(*branch);
      for (size_t i = 0; i < under.size(); ++i) {
        if (inputs[i] && !under[i]) under[i] = 1 + *inputs[i];
      }
    }
  } else if (primitive.kind == PrimitiveKind::kView ||
             trait_of_kernel(primitive.name) == KernelTrait::kUpdatesFirstInput) {
    under[0] = 0;
  }
  return under;
}

// For each output: the input whose memory it uses if all inputs may be overwritten.
Under inputs_under_outputs(const Program& program) {
  Under by_variable(program.variable_types.size());
  for (size_t i = 0; i < program.inputs.size(); ++i) by_variable[program.inputs[i]] = i;
  for (const Equation& equation : program.equations) {
    const Under operands = operands_under_results(equation);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i] || !equation.inputs[*operands[i]].is_variable()) continue;
      by_variable[equation.outputs[i]] = by_variable[equation.inputs[*operands[i]].index];
    }
  }
  Under result;
  for (const Atom output : program.outputs) {
    result.push_back(output.is_variable() ? by_variable[output.index] : std::nullopt);
  }
  return result;
}

// The pairs of inputs and outputs that branches can keep in place, for inputs that may be
// overwritten.
InPlace pairs_for(const std::vector<ProgramPtr>& branches, std::vector<bool> may_write) {
  InPlace pairs;
  std::vector<bool> is_paired(branches[0]->outputs.size(), false);
  for (const ProgramPtr& branch : branches) {
    const Under under = inputs_under_outputs(*branch);
    for (size_t i = 0; i < under.size(); ++i) {
      if (!under[i] || !may_write[*under[i]] || is_paired[i] ||
          branch->variable_types[branch->inputs[*under[i]]].nbytes() !=
              branch->type_of(branch->outputs[i]).nbytes()) {
        continue;
      }
      pairs.emplace_back(*under[i], i);
      is_paired[i] = true;
      may_write[*under[i]] = false;
    }
  }
  return pairs;
}

// Whether the region may write over the operand, which nothing reads afterwards.
bool may_write(const Program& program, size_t equation, size_t operand, const AliasSets& sets,
               const Layouts& layouts) {
  return sets.why_not_overwrite(equation, operand).empty() &&
         !layouts.of(program.equations[equation].inputs[operand]);
}

// A step may overwrite a slice that is not read later, if a foreign call leaves a slice of a result
// there: each step reads its own slices only.
InPlace slices_in_place(const Program& program, size_t index, const AliasSets& sets,
                        const Layouts& layouts) {
  const Equation& equation = program.equations[index];
  const auto& p = params_as<ScanParams>(equation.params.get());
  const auto is_foreign = [](const Equation& each) { return each.primitive->is_foreign(); };
  if (std::ranges::none_of(p.jaxpr->equations, is_foreign)) return {};
  std::vector<bool> is_free(equation.inputs.size(), false);
  for (auto i = static_cast<size_t>(p.num_consts + p.num_carry); i < is_free.size(); ++i) {
    is_free[i] = may_write(program, index, i, sets, layouts);
  }
  InPlace pairs = pairs_for({p.jaxpr}, std::move(is_free));
  std::erase_if(pairs,
                [&](const auto& pair) { return pair.second < static_cast<size_t>(p.num_carry); });
  return pairs;
}

PlannedRegion plan_scan(const Program& program, size_t index, const AliasSets& sets,
                        const Layouts& layouts, size_t first_child) {
  const Equation& equation = program.equations[index];
  const auto& p = params_as<ScanParams>(equation.params.get());
  const auto num_consts = static_cast<size_t>(p.num_consts);
  const auto num_carry = static_cast<size_t>(p.num_carry);
  PlannedRegion planned{.kind = Instruction::Kind::kScan};
  PlanOptions options = step_options(*p.jaxpr, num_consts, num_carry);
  const InPlace slices = slices_in_place(program, index, sets, layouts);
  for (const auto& pair : slices) {
    options.donated_inputs[pair.first] = true;
    options.in_place.push_back(pair);
  }
  planned.children.push_back(make_plan(p.jaxpr, std::move(options)));
  const Plan& step = *planned.children[0];
  planned.carries = carries_of(step, num_consts, num_carry);
  planned.in_place = in_place_of(planned.carries, num_consts);
  for (const auto& [slice, result] : slices) {
    if (step.overwrites[slice]) planned.overwrites.push_back(slice);
    if (is_in_input(step, slice, result)) planned.in_place.emplace_back(slice, result);
  }
  auto scan = std::make_unique<ScanRegion>();
  scan->child = first_child;
  scan->length = p.length;
  scan->is_reverse = p.reverse;
  scan->num_consts = num_consts;
  scan->carries = planned.carries;
  const auto inputs = p.jaxpr->input_types(), outputs = p.jaxpr->output_types();
  scan->x_strides = slice_bytes(std::span(inputs).subspan(num_consts + num_carry));
  scan->y_strides = slice_bytes(std::span(outputs).subspan(num_carry));
  scan->code = std::make_unique<jit::LoopCode>(equation);
  planned.region = std::move(scan);
  return planned;
}

PlannedRegion plan_while(const Equation& equation, size_t first_child) {
  const auto& p = params_as<WhileParams>(equation.params.get());
  auto loop = std::make_unique<WhileRegion>();
  loop->num_condition_consts = static_cast<size_t>(p.cond_nconsts);
  loop->num_body_consts = static_cast<size_t>(p.body_nconsts);
  const size_t num_carry = p.body_jaxpr->outputs.size();
  PlannedRegion planned{.kind = Instruction::Kind::kWhile};
  planned.children.push_back(make_plan(p.cond_jaxpr, {.is_nested = true}));
  planned.children.push_back(
      make_plan(p.body_jaxpr, step_options(*p.body_jaxpr, loop->num_body_consts, num_carry)));
  planned.carries = carries_of(*planned.children[1], loop->num_body_consts, num_carry);
  planned.in_place =
      in_place_of(planned.carries, loop->num_condition_consts + loop->num_body_consts);
  loop->condition = first_child;
  loop->body = first_child + 1;
  loop->carries = planned.carries;
  loop->code = std::make_unique<jit::LoopCode>(equation);
  planned.region = std::move(loop);
  return planned;
}

// Branches may overwrite operands that are not read later. A result is in such an operand's memory
// if all branches put it there; otherwise it is copied from there.
PlannedRegion plan_cond(const Program& program, size_t index, const AliasSets& sets,
                        const Layouts& layouts, size_t first_child) {
  const Equation& equation = program.equations[index];
  const auto& programs = params_as<CondParams>(equation.params.get()).branches;
  PlanOptions options{.is_nested = true};
  for (size_t i = 1; i < equation.inputs.size(); ++i) {
    options.donated_inputs.push_back(may_write(program, index, i, sets, layouts));
  }
  options.in_place = pairs_for(programs, options.donated_inputs);
  PlannedRegion planned{.kind = Instruction::Kind::kCond};
  std::vector<std::unique_ptr<const Plan>>& plans = planned.children;
  for (const ProgramPtr& branch : programs) plans.push_back(make_plan(branch, options));

  auto choice = std::make_unique<CondRegion>();
  choice->num_operands = equation.inputs.size() - 1;
  choice->num_results = equation.outputs.size();
  choice->copies.resize(plans.size());
  for (size_t i = 0; i < plans.size(); ++i) choice->branches.push_back(first_child + i);
  for (const auto& pair : options.in_place) {
    const auto [operand, result] = pair;
    const auto is_in_place = [&](const auto& plan) {
      return is_in_input(*plan, pair.first, pair.second);
    };
    if (std::ranges::all_of(plans, is_in_place)) {
      planned.in_place.emplace_back(1 + operand, result);
      continue;
    }
    for (size_t i = 0; i < plans.size(); ++i) {
      if (!is_in_place(plans[i])) continue;
      choice->copies[i].push_back({operand, result, plans[i]->outputs[result].nbytes});
      planned.alias_copies += plans[i]->overwrites[operand];
    }
  }
  for (size_t i = 0; i < choice->num_operands; ++i) {
    if (std::ranges::any_of(plans, [&](const auto& plan) { return plan->overwrites[i]; })) {
      planned.overwrites.push_back(1 + i);
    }
  }
  planned.region = std::move(choice);
  return planned;
}

}  // namespace

PlannedRegion plan_region(const Program& program, size_t equation, const AliasSets& sets,
                          const Layouts& layouts, size_t first_child) {
  switch (program.equations[equation].primitive->kind) {
    case PrimitiveKind::kScan:
      return plan_scan(program, equation, sets, layouts, first_child);
    case PrimitiveKind::kWhile:
      return plan_while(program.equations[equation], first_child);
    case PrimitiveKind::kCond:
      return plan_cond(program, equation, sets, layouts, first_child);
    default:
      return {};
  }
}

}  // namespace farcall::native
