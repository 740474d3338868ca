#include "engine/native/planner.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/core/layout.h>
#include <farcall/core/sizes.h>
#include <farcall/program/located.h>

#include "engine/native/kernels/strided_copy.h"

namespace farcall::native {

Plan::Plan() = default;
Plan::~Plan() = default;

Planner::Planner(ProgramPtr program, PlanOptions options)
    : program_(*program), options_(std::move(options)), plan_(std::make_unique<Plan>()) {
  plan_->program = std::move(program);
  plan_->overwrites.assign(program_.inputs.size(), false);
  options_.donated_inputs.resize(program_.inputs.size(), false);
}

std::unique_ptr<const Plan> Planner::run() {
  region_of_.assign(program_.equations.size(), kNever);
  callbacks_.resize(program_.equations.size());
  for (size_t i = 0; i < program_.equations.size(); ++i) {
    const Equation& equation = program_.equations[i];
    if (const CallbackParams* params = try_callback(equation.params.get())) {
      callbacks_[i] = as_foreign_call(*params, equation.inputs.size());
    }
  }
  report_of_.assign(program_.equations.size(), kNever);
  share_memory();
  place_fixed();
  for (size_t i = 0; i < program_.equations.size(); ++i) {
    poll_interrupt();
    with_location(program_.equations[i], [&] { plan_equation(i); });
  }
  place_outputs();
  const Cost cost = program_.cost();
  plan_->cost = std::max(cost.flops, cost.bytes);
  finish();
  return std::move(plan_);
}

// ---- which variables share memory ----

void Planner::share_memory() {
  const size_t count = program_.variable_types.size();
  shares_.resize(count);
  std::iota(shares_.begin(), shares_.end(), 0u);
  last_use_.assign(count, 0);
  defined_at_.assign(count, kNever);
  is_ours_.assign(count, false);
  consumers_.resize(count);
  for (size_t i = 0; i < program_.inputs.size(); ++i) {
    is_ours_[program_.inputs[i]] = options_.donated_inputs[i];
  }
  for (size_t i = 0; i < program_.equations.size(); ++i) {
    for (const Atom atom : program_.equations[i].inputs) {
      if (!atom.is_variable()) continue;
      last_use_[atom.index] = i;
      consumers_[atom.index].push_back(i);
    }
    for (const uint32_t output : program_.equations[i].outputs) {
      last_use_[output] = i;
      defined_at_[output] = i;
      is_ours_[output] = true;
    }
  }
  for (const Atom atom : program_.outputs) {
    if (atom.is_variable()) last_use_[atom.index] = kNever;
  }
  own_last_use_ = last_use_;
  layouts_.resize(count);
  row_major_copies_.resize(count);
  alias_refusals_.resize(program_.equations.size());
  for (size_t i = 0; i < program_.equations.size(); ++i) {
    poll_interrupt();
    with_location(program_.equations[i], [&] { make_region(i); });
    share_equation(i);
  }
}

void Planner::share_equation(size_t index) {
  const Equation& equation = program_.equations[index];
  if (equation.primitive->kind == PrimitiveKind::kView) {
    const Atom operand = equation.inputs[0];
    if (operand.is_variable() && !layouts_[operand.index]) {
      join(equation.outputs[0], operand.index);
    }
  } else if (equation.primitive->kind == PrimitiveKind::kTranspose) {
    share_transpose(index);
  } else if (foreign_call(index)) {
    share_foreign_call(index);
  } else if (region_of_[index] != kNever) {
    share_region(index);
  } else if (updates_first_input(equation.primitive->name) &&
             why_not_take_over(equation, index, 0).empty() && !layouts_[equation.inputs[0].index]) {
    join(equation.outputs[0], equation.inputs[0].index);
  }
}

void Planner::join(uint32_t variable, uint32_t with) {
  const uint32_t representative = root(with);
  shares_[variable] = representative;
  last_use_[representative] = std::max(last_use_[representative], last_use_[variable]);
}

// An operand may be written over when its memory is the plan's own, nobody reads it later, and the
// equation itself reads it through this operand alone, but for reads of copies.
std::string Planner::why_not_take_over(const Equation& equation, size_t index, size_t input,
                                       size_t num_copied_reads) const {
  const Atom atom = equation.inputs[input];
  if (!atom.is_variable()) return "the operand is a constant";
  const uint32_t variable = root(atom.index);
  if (std::ranges::find(program_.outputs, atom) != program_.outputs.end()) {
    return "the operand is also a result of the program";
  }
  if (!is_ours_[variable]) {
    const bool is_input = std::ranges::find(program_.inputs, variable) != program_.inputs.end();
    if (!is_input) return "the operand is a constant";
    return options_.is_nested ? "the operand comes from outside of the loop or branch"
                              : "the operand is an argument of the program that was not donated";
  }
  if (last_use_[variable] != index) {
    return last_use_[variable] == kNever
               ? "the operand's memory holds a result of the program"
               : fmt::format("the operand is read again by {}",
                             program_.equations[last_use_[variable]].primitive->name);
  }
  const auto num_reads = static_cast<size_t>(
      std::ranges::count_if(equation.inputs, [&](Atom other) { return lies_in(other, variable); }));
  return num_reads > num_copied_reads + 1 ? "the call reads the operand twice" : "";
}

// ---- where memory is ----

void Planner::place_fixed() {
  places_.resize(program_.variable_types.size());
  literal_places_.resize(program_.literals.size());
  wanted_input_.resize(program_.variable_types.size());
  wanted_output_.resize(program_.variable_types.size());
  for (size_t i = 0; i < program_.inputs.size(); ++i) {
    places_[program_.inputs[i]] = {Place::Kind::kInput, i};
  }
  for (const Constant& constant : program_.constants) {
    places_[constant.variable] = add_constant(constant.storage);
  }
  for (const auto& [input, output] : options_.in_place) try_in_place(input, output);
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    const Atom atom = program_.outputs[i];
    if (!atom.is_variable()) continue;
    const uint32_t variable = root(atom.index);
    if (places_[variable].kind != Place::Kind::kNone || wanted_output_[variable]) continue;
    if (wanted_input_[variable]) {
      wanted_output_[variable] = i;
    } else {
      places_[variable] = {Place::Kind::kOutput, i};
    }
  }
}

// Lets an output lie in the memory of a donated input, if that is no longer read when the output is
// made. Where it is read at that very moment, the equation's kernel decides.
void Planner::try_in_place(size_t input, size_t output) {
  const Atom atom = program_.outputs[output];
  if (!atom.is_variable()) return;
  const uint32_t from = root(program_.inputs[input]), to = root(atom.index);
  if (from != program_.inputs[input] || defined_at_[to] == kNever ||
      places_[to].kind != Place::Kind::kNone || wanted_input_[to]) {
    return;
  }
  const bool is_read = !consumers_[from].empty() || last_use_[from] == kNever;
  if (!is_read || last_use_[from] < defined_at_[to]) {
    places_[to] = places_[from];
    is_ours_[from] = false;  // nothing else may lie there
  } else if (last_use_[from] == defined_at_[to]) {
    wanted_input_[to] = input;
    is_ours_[from] = false;
  }
}

// Memory that was adopted may be changed by its owner, which a result must not notice, and need
// not be aligned as handlers rely on.
Place Planner::add_constant(Storage storage) {
  if (!storage.is_owned() && storage.nbytes() > 0) {
    Storage copy = Storage::allocate(storage.nbytes());
    std::memcpy(copy.data(), storage.data(), storage.nbytes());
    storage = std::move(copy);
  }
  plan_->constants.push_back(std::move(storage));
  return {Place::Kind::kConstant, plan_->constants.size() - 1};
}

Place Planner::place_of(Atom atom) {
  if (atom.is_variable()) return places_[root(atom.index)];
  Place& place = literal_places_[atom.index];
  if (place.kind == Place::Kind::kNone) {
    const Literal& literal = program_.literals[atom.index];
    Storage storage = Storage::allocate(literal.type.nbytes());
    std::memcpy(storage.data(), literal.bytes.data(), literal.type.nbytes());
    place = add_constant(std::move(storage));
  }
  return place;
}

// The place of a variable that an equation defines.
Place Planner::define(uint32_t variable) {
  const uint32_t representative = root(variable);
  Place& place = places_[representative];
  if (place.kind == Place::Kind::kNone) {
    if (const auto output = wanted_output_[representative]) {
      place = {Place::Kind::kOutput, *output};
    } else {
      place = {Place::Kind::kArena, arena_.allocate(program_.variable_types[variable].nbytes())};
    }
  }
  if (place.kind == Place::Kind::kInput) plan_->overwrites[place.index] = true;
  return place;
}

// Frees what equation `index` reads or defines last.
void Planner::release_dead(size_t index) {
  const Equation& equation = program_.equations[index];
  const auto release = [&](uint32_t variable) {
    if (Place& copy = row_major_copies_[variable];
        copy.kind != Place::Kind::kNone && own_last_use_[variable] == index) {
      arena_.release(copy.index, program_.variable_types[variable].nbytes());
      copy = {};
    }
    const uint32_t representative = root(variable);
    Place& place = places_[representative];
    if (place.kind != Place::Kind::kArena || last_use_[representative] != index) return;
    arena_.release(place.index, program_.variable_types[representative].nbytes());
    place = {};
    last_use_[representative] = kNever;  // released once
  };
  for (const Atom atom : equation.inputs) {
    if (atom.is_variable()) release(atom.index);
  }
  std::ranges::for_each(equation.outputs, release);
}

// ---- instructions ----

void Planner::plan_equation(size_t index) {
  const Equation& equation = program_.equations[index];
  const PrimitiveKind kind = equation.primitive->kind;
  if (foreign_call(index)) {
    plan_foreign_call(index);
  } else if (region_of_[index] != kNever) {
    plan_region(index);
  } else if (equation.primitive->name == "create_token") {
    // Nothing to do: a token has no bytes.
  } else if ((kind == PrimitiveKind::kView || kind == PrimitiveKind::kTranspose) &&
             shares_[equation.outputs[0]] != equation.outputs[0]) {
    // Nothing to do: the result is the operand's memory.
  } else {
    plan_kernel(equation, index);
  }
  release_dead(index);
}

void Planner::plan_kernel(const Equation& equation, size_t index) {
  const KernelFactory factory = find_kernel(equation.primitive->name);
  std::vector<ShapeDtype> inputs, outputs;
  for (const Atom atom : equation.inputs) inputs.push_back(program_.type_of(atom));
  for (const uint32_t output : equation.outputs) {
    outputs.push_back(program_.variable_types[output]);
  }
  if (!equation.primitive->never_run.empty()) {
    throw TypeError(std::string(equation.primitive->never_run));
  }
  // Nothing to compute, and of arrays without elements any other size may be too large to compute
  // with.
  const auto is_empty = [](ShapeDtype type) { return !type.is_token() && type.size() == 0; };
  if (!outputs.empty() && std::ranges::all_of(outputs, is_empty)) {
    for (const uint32_t output : equation.outputs) define(output);
    return;
  }
  Kernel kernel = factory ? factory(inputs, outputs, equation.params.get()) : Kernel();
  if (!kernel.run) {
    std::string types;
    for (const ShapeDtype& type : inputs) types += (types.empty() ? "" : ", ") + type.to_string();
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("{}: the native engine has no kernel for operands ({})",
                            equation.primitive->name, types));
  }
  std::vector<Place> operands;
  for (const Atom atom : equation.inputs) {
    operands.push_back(row_major_place(atom, equation.primitive->name));
  }
  if (kernel.can_run_in_place && outputs.size() == 1) take_over_operand(equation, index);
  for (const uint32_t output : equation.outputs) operands.push_back(define(output));
  add_kernel(std::move(kernel), operands);
}

// Lets an elementwise result lie where an operand that dies here lay.
void Planner::take_over_operand(const Equation& equation, size_t index) {
  const uint32_t output = equation.outputs[0];
  const uint32_t result = root(output);
  if (places_[result].kind != Place::Kind::kNone) return;
  for (const Atom atom : equation.inputs) {
    if (!atom.is_variable()) continue;
    const uint32_t operand = root(atom.index);
    const Place place = places_[operand];
    if (last_use_[operand] != index || layouts_[atom.index] ||
        // A scalar is read for every element, so that it may not be written over, however many
        // bytes it has.
        program_.type_of(atom).size() != program_.variable_types[output].size() ||
        program_.variable_types[operand].nbytes() != program_.variable_types[output].nbytes()) {
      continue;
    }
    const bool is_wanted =
        place.kind == Place::Kind::kInput && wanted_input_[result] == std::optional(place.index);
    const bool is_free = place.kind == Place::Kind::kArena ||
                         (place.kind == Place::Kind::kInput && is_ours_[operand]);
    // A result of the program goes to its own place, or to the one that was chosen for it.
    if (!is_wanted && (!is_free || wanted_output_[result])) continue;
    places_[result] = place;
    last_use_[operand] = kNever;  // its memory lives on as the result's
    places_[operand] = {};
    return;
  }
}

uint32_t Planner::add_operands(std::span<const Place> operands, bool needs_alignment) {
  const auto first = static_cast<uint32_t>(plan_->num_operands);
  for (const Place place : operands) {
    plan_->pointers.push_back({.index = static_cast<uint32_t>(plan_->num_operands++),
                               .needs_alignment = needs_alignment,
                               .place = place});
  }
  return first;
}

void Planner::add_kernel(Kernel kernel, std::span<const Place> operands) {
  Instruction instruction{Instruction::Kind::kKernel};
  instruction.first_operand = add_operands(operands, /*needs_alignment=*/false);
  instruction.run = kernel.run;
  instruction.data = kernel.data.get();
  plan_->scratch_bytes = std::max(plan_->scratch_bytes, kernel.scratch_bytes);
  plan_->kernels.push_back(std::move(kernel));
  plan_->instructions.push_back(instruction);
}

// A copy of an array from one layout to another.
void Planner::add_copy(ShapeDtype type, Place from, const MajorToMinor& from_layout, Place to,
                       const MajorToMinor& to_layout) {
  const auto strides = [&](const MajorToMinor& layout) {
    return strides_of(type.shape(), layout ? Layout{*layout} : row_major(type.rank()));
  };
  Kernel kernel;
  kernel.data = std::make_shared<const StridedCopy>(byte_width(type.dtype()), type.shape(),
                                                    strides(from_layout), strides(to_layout));
  kernel.run = [](const KernelCall& call) {
    static_cast<const StridedCopy*>(call.data)->run(call.operands[0], call.operands[1]);
  };
  const Place operands[] = {from, to};
  add_kernel(std::move(kernel), operands);
}

// ---- the end ----

void Planner::place_outputs() {
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    const ShapeDtype type = program_.type_of(program_.outputs[i]);
    const Place place = row_major_place(program_.outputs[i], "the caller");
    plan_->outputs.push_back({type.nbytes(), place});
    if (!options_.is_nested) continue;
    const Place wanted{Place::Kind::kOutput, i};
    if (place.kind == wanted.kind && place.index == wanted.index) continue;
    const std::pair own(place.index, i);
    if (place.kind == Place::Kind::kInput &&
        std::ranges::find(options_.in_place, own) != options_.in_place.end()) {
      continue;
    }
    add_copy(type, place, {}, wanted, {});
    plan_->outputs.back().place = wanted;
  }
}

void Planner::finish() {
  plan_->arena_bytes = arena_.size();
  memory_sum(plan_->arena_bytes, plan_->scratch_bytes);  // which is one block
  for (const PointerUse& use : plan_->pointers) {
    if (use.place.kind == Place::Kind::kInput || use.place.kind == Place::Kind::kOutput) {
      plan_->run_pointers.push_back(use);
    }
  }
}

std::unique_ptr<const Plan> make_plan(ProgramPtr program, PlanOptions options) {
  return Planner(std::move(program), std::move(options)).run();
}

}  // namespace farcall::native
