// Loops and branches in a plan.
#include <algorithm>
#include <span>

#include <farcall/primitives/control_flow.h>

#include "engine/native/passes.h"
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
  for (const ShapeDtype slice : slices) bytes.push_back(static_cast<int64_t>(slice.nbytes()));
  return bytes;
}

}  // namespace

size_t Planner::add_child(const ProgramPtr& program, PlanOptions options) {
  std::unique_ptr<const Plan> child =
      make_plan(remove_dead_code(inline_calls(program)), std::move(options));
  plan_->has_foreign_code |= child->has_foreign_code;
  plan_->has_execution_stages |= child->has_execution_stages;
  plan_->reports.insert(plan_->reports.end(), child->reports.begin(), child->reports.end());
  plan_->statistics.alias_copies += child->statistics.alias_copies;
  plan_->statistics.layout_copies += child->statistics.layout_copies;
  plan_->children.push_back(std::move(child));
  return plan_->children.size() - 1;
}

void Planner::make_region(size_t index) {
  const Equation& equation = program_.equations[index];
  const std::string_view name = equation.primitive->name;
  RegionInfo info;
  std::unique_ptr<Region> made;
  if (name == "scan") {
    const auto& p = params_as<ScanParams>(equation.params.get());
    const auto num_consts = static_cast<size_t>(p.num_consts);
    const auto num_carry = static_cast<size_t>(p.num_carry);
    auto scan = std::make_unique<ScanRegion>();
    scan->child = add_child(p.jaxpr, step_options(*p.jaxpr, num_consts, num_carry));
    scan->length = p.length;
    scan->is_reverse = p.reverse;
    scan->num_consts = num_consts;
    scan->carries = carries_of(*plan_->children[scan->child], num_consts, num_carry);
    const auto inputs = p.jaxpr->input_types(), outputs = p.jaxpr->output_types();
    scan->x_strides = slice_bytes(std::span(inputs).subspan(num_consts + num_carry));
    scan->y_strides = slice_bytes(std::span(outputs).subspan(num_carry));
    info = {plan_->regions.size(), Instruction::Kind::kScan, num_consts, scan->carries};
    made = std::move(scan);
  } else if (name == "while") {
    const auto& p = params_as<WhileParams>(equation.params.get());
    auto loop = std::make_unique<WhileRegion>();
    loop->num_condition_consts = static_cast<size_t>(p.cond_nconsts);
    loop->num_body_consts = static_cast<size_t>(p.body_nconsts);
    const size_t num_carry = p.body_jaxpr->outputs.size();
    loop->condition = add_child(p.cond_jaxpr, {.is_nested = true});
    loop->body =
        add_child(p.body_jaxpr, step_options(*p.body_jaxpr, loop->num_body_consts, num_carry));
    loop->carries = carries_of(*plan_->children[loop->body], loop->num_body_consts, num_carry);
    info = {plan_->regions.size(), Instruction::Kind::kWhile,
            loop->num_condition_consts + loop->num_body_consts, loop->carries};
    made = std::move(loop);
  } else if (name == "cond") {
    auto choice = std::make_unique<CondRegion>();
    for (const ProgramPtr& branch : params_as<CondParams>(equation.params.get()).branches) {
      choice->branches.push_back(add_child(branch, {.is_nested = true}));
    }
    choice->num_operands = equation.inputs.size() - 1;
    choice->num_results = equation.outputs.size();
    info = {plan_->regions.size(), Instruction::Kind::kCond, 0, {}};
    made = std::move(choice);
  } else {
    return;
  }
  region_of_[index] = regions_.size();
  regions_.push_back(std::move(info));
  plan_->regions.push_back(std::move(made));
}

// A carry that is kept in place may be kept where its initial value is.
void Planner::share_region(size_t index) {
  const Equation& equation = program_.equations[index];
  const RegionInfo& info = regions_[region_of_[index]];
  for (size_t i = 0; i < info.carries.size(); ++i) {
    const size_t operand = info.first_carry + i;
    if (info.carries[i].is_in_place && why_not_take_over(equation, index, operand).empty()) {
      join(equation.outputs[i], equation.inputs[operand].index);
    }
  }
}

void Planner::plan_region(size_t index) {
  const Equation& equation = program_.equations[index];
  const RegionInfo& info = regions_[region_of_[index]];
  std::vector<Place> operands;
  Temporaries temporaries;
  for (const Atom atom : equation.inputs) operands.push_back(row_major_place(atom));
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
