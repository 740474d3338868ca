// Loops and branches in a plan.
#include <algorithm>
#include <optional>
#include <span>

#include <farcall/primitives/control_flow.h>

#include "engine/native/kernel.h"
#include "engine/native/planner.h"

namespace farcall::native {
namespace {

// The plan of one step of a loop may overwrite the carry, which is the loop's own from the second
// step on, and of the first one where that needs it.
PlanOptions step_options(const Program& step, size_t first_carry, size_t num_carry) {
  PlanOptions options{.is_nested = true};
  options.donated_inputs.resize(step.inputs.size(), false);
  for (size_t i = 0; i < num_carry; ++i) {
    options.donated_inputs[first_carry + i] = true;
    options.in_place.emplace_back(first_carry + i, i);
  }
  return options;
}

std::vector<Carry> carries_of(const Plan& step, size_t first_carry, size_t num_carry) {
  std::vector<Carry> carries;
  for (size_t i = 0; i < num_carry; ++i) {
    const Place place = step.outputs[i].place;
    const bool is_in_place = place.kind == Place::Kind::kInput && place.index == first_carry + i;
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

// By result: the operand in whose memory it lies if all operands may be written over.
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
  } else if (primitive.kind == PrimitiveKind::kView || updates_first_input(primitive.name)) {
    under[0] = 0;
  }
  return under;
}

// By output: the input in whose memory it lies if all operands may be written over.
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

// What the branches of a choice would have in place, of what may be written over.
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

}  // namespace

size_t Planner::add_child(std::unique_ptr<const Plan> child) {
  plan_->has_foreign_code |= child->has_foreign_code;
  plan_->has_execution_stages |= child->has_execution_stages;
  plan_->statistics.alias_copies += child->statistics.alias_copies;
  plan_->statistics.layout_copies += child->statistics.layout_copies;
  plan_->children.push_back(std::move(child));
  return plan_->children.size() - 1;
}

void Planner::make_region(size_t index) {
  const Equation& equation = program_.equations[index];
  const PrimitiveKind kind = equation.primitive->kind;
  RegionInfo info;
  const size_t first_child = plan_->children.size();
  std::unique_ptr<Region> made;
  if (kind == PrimitiveKind::kScan) {
    const auto& p = params_as<ScanParams>(equation.params.get());
    const auto num_consts = static_cast<size_t>(p.num_consts);
    const auto num_carry = static_cast<size_t>(p.num_carry);
    auto scan = std::make_unique<ScanRegion>();
    scan->child = add_child(make_plan(p.jaxpr, step_options(*p.jaxpr, num_consts, num_carry)));
    scan->length = p.length;
    scan->is_reverse = p.reverse;
    scan->num_consts = num_consts;
    scan->carries = carries_of(*plan_->children[scan->child], num_consts, num_carry);
    const auto inputs = p.jaxpr->input_types(), outputs = p.jaxpr->output_types();
    scan->x_strides = slice_bytes(std::span(inputs).subspan(num_consts + num_carry));
    scan->y_strides = slice_bytes(std::span(outputs).subspan(num_carry));
    info = {plan_->regions.size(), Instruction::Kind::kScan, scan->carries,
            in_place_of(scan->carries, num_consts)};
    made = std::move(scan);
  } else if (kind == PrimitiveKind::kWhile) {
    const auto& p = params_as<WhileParams>(equation.params.get());
    auto loop = std::make_unique<WhileRegion>();
    loop->num_condition_consts = static_cast<size_t>(p.cond_nconsts);
    loop->num_body_consts = static_cast<size_t>(p.body_nconsts);
    const size_t num_carry = p.body_jaxpr->outputs.size();
    loop->condition = add_child(make_plan(p.cond_jaxpr, {.is_nested = true}));
    loop->body = add_child(
        make_plan(p.body_jaxpr, step_options(*p.body_jaxpr, loop->num_body_consts, num_carry)));
    loop->carries = carries_of(*plan_->children[loop->body], loop->num_body_consts, num_carry);
    info = {plan_->regions.size(), Instruction::Kind::kWhile, loop->carries,
            in_place_of(loop->carries, loop->num_condition_consts + loop->num_body_consts)};
    made = std::move(loop);
  } else if (kind == PrimitiveKind::kCond) {
    auto choice = std::make_unique<CondRegion>();
    info = {plan_->regions.size(), Instruction::Kind::kCond, {}, add_branches(index, *choice)};
    choice->num_operands = equation.inputs.size() - 1;
    choice->num_results = equation.outputs.size();
    made = std::move(choice);
  } else {
    return;
  }
  info.children = {first_child, plan_->children.size()};
  region_of_[index] = regions_.size();
  regions_.push_back(std::move(info));
  plan_->regions.push_back(std::move(made));
}

// Plans the branches of a choice. They may write over operands that die here, and a result lies in
// such an operand's memory if every branch puts it there; otherwise it is copied from there.
InPlace Planner::add_branches(size_t index, CondRegion& choice) {
  const Equation& equation = program_.equations[index];
  const auto& programs = params_as<CondParams>(equation.params.get()).branches;
  PlanOptions options{.is_nested = true};
  for (size_t i = 1; i < equation.inputs.size(); ++i) {
    options.donated_inputs.push_back(why_not_take_over(equation, index, i).empty() &&
                                     !layout_of(equation.inputs[i]));
  }
  options.in_place = pairs_for(programs, options.donated_inputs);
  std::vector<std::unique_ptr<const Plan>> plans;
  for (const ProgramPtr& program : programs) plans.push_back(make_plan(program, options));

  choice.copies.resize(plans.size());
  InPlace shared;
  for (const auto& pair : options.in_place) {
    const auto [operand, result] = pair;
    const auto is_in_place = [&](const auto& plan) {
      const Place place = plan->outputs[pair.second].place;
      return place.kind == Place::Kind::kInput && place.index == pair.first;
    };
    if (std::ranges::all_of(plans, is_in_place)) {
      shared.emplace_back(1 + operand, result);
      continue;
    }
    for (size_t i = 0; i < plans.size(); ++i) {
      if (!is_in_place(plans[i])) continue;
      choice.copies[i].push_back({operand, result, plans[i]->outputs[result].nbytes});
      if (plans[i]->overwrites[operand]) ++plan_->statistics.alias_copies;
    }
  }
  for (auto& plan : plans) choice.branches.push_back(add_child(std::move(plan)));
  return shared;
}

// What is kept in place inside may be kept where the operand is.
void Planner::share_region(size_t index) {
  const Equation& equation = program_.equations[index];
  for (const auto& [operand, result] : regions_[region_of_[index]].in_place) {
    if (why_not_take_over(equation, index, operand).empty()) {
      join(equation.outputs[result], equation.inputs[operand].index);
    }
  }
}

void Planner::plan_region(size_t index) {
  const Equation& equation = program_.equations[index];
  const RegionInfo& info = regions_[region_of_[index]];
  for (size_t i = info.children.first; i < info.children.second; ++i) {
    const std::vector<PlannedCall>& inner = plan_->children[i]->reports;
    plan_->reports.insert(plan_->reports.end(), inner.begin(), inner.end());
  }
  std::vector<Place> operands;
  Temporaries temporaries;
  for (const Atom atom : equation.inputs) {
    operands.push_back(row_major_place(atom, equation.primitive->name));
  }
  if (info.kind == Instruction::Kind::kCond) {
    for (size_t i = info.children.first; i < info.children.second; ++i) {
      const std::vector<bool>& overwrites = plan_->children[i]->overwrites;
      for (size_t input = 0; input < overwrites.size(); ++input) {
        const Place place = operands[1 + input];
        if (overwrites[input] && place.kind == Place::Kind::kInput) {
          plan_->overwrites[place.index] = true;
        }
      }
    }
  }
  for (const uint32_t output : equation.outputs) operands.push_back(define(output));
  for (const Carry& carry : info.carries) {
    const bool alternates = !carry.is_in_place && !carry.is_invariant;
    operands.push_back(alternates ? add_temporary(carry.nbytes, temporaries) : Place());
  }
  Instruction instruction{info.kind};
  instruction.first_operand = add_operands(operands, /*needs_alignment=*/true);
  instruction.data = plan_->regions[info.region].get();
  plan_->instructions.push_back(instruction);
  release(temporaries);
}

}  // namespace farcall::native
