#include "engine/native/plan/allocation.h"

#include <algorithm>

#include <farcall/primitives/structural.h>

namespace farcall::native {

Allocator::Allocator(const Program& program, const PlanOptions& options, const Uses& uses,
                     const AliasSets& sets)
    : program_(program),
      uses_(uses),
      sets_(sets),
      allocations_(program.variable_types.size()),
      last_read_(program.variable_types.size()),
      is_free_(program.variable_types.size()),
      literals_(program.literals.size()),
      wanted_input_(program.variable_types.size()),
      wanted_output_(program.variable_types.size()),
      parts_(program.variable_types.size()),
      overwrites_(program.inputs.size(), false) {
  for (uint32_t i = 0; i < last_read_.size(); ++i) {
    last_read_[i] = sets.last_read(i);
    is_free_[i] = sets.is_writable(i);
  }
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    allocations_[program.inputs[i]] = {Allocation::Kind::kInput, i};
  }
  for (const Constant& constant : program.constants) {
    allocations_[constant.variable] = add_constant(constant.storage);
  }
  for (const auto& [input, output] : options.in_place) try_in_place(input, output);
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const Atom atom = program.outputs[i];
    if (!atom.is_variable()) continue;
    const uint32_t set = sets.representative(atom.index);
    if (allocations_[set].kind != Allocation::Kind::kNone || wanted_output_[set]) continue;
    if (wanted_input_[set]) {
      wanted_output_[set] = i;
    } else {
      allocations_[set] = {Allocation::Kind::kOutput, i};
    }
  }
}

// Lets an output use the memory of a donated input if the last read of the input is before the
// output is made. If the equation that makes the output also reads the input, its kernel decides.
void Allocator::try_in_place(size_t input, size_t output) {
  const Atom atom = program_.outputs[output];
  if (!atom.is_variable()) return;
  const uint32_t from = program_.inputs[input], to = sets_.representative(atom.index);
  if (sets_.is_alias(from) || uses_.made_by[to] == kNever ||
      allocations_[to].kind != Allocation::Kind::kNone || wanted_input_[to]) {
    return;
  }
  const bool is_read = !uses_.readers[from].empty() || last_read_[from] == kNever;
  if (!is_read || last_read_[from] < uses_.first_beside[uses_.made_by[to]]) {
    allocations_[to] = allocations_[from];
  } else if (last_read_[from] == uses_.made_by[to]) {
    wanted_input_[to] = input;
  } else {
    return;
  }
  is_free_[from] = false;  // no other value may use it
}

// Copies adopted memory: its owner may change it, which results must not show, and it may not have
// the alignment that handlers rely on.
Allocation Allocator::add_constant(Storage storage) {
  if (!storage.is_owned() && storage.nbytes() > 0) storage = storage.copy();
  constants_.push_back(std::move(storage));
  return {Allocation::Kind::kConstant, constants_.size() - 1};
}

Allocation Allocator::of(Atom atom) {
  if (atom.is_variable()) return allocations_[sets_.representative(atom.index)];
  Allocation& allocation = literals_[atom.index];
  if (allocation.kind == Allocation::Kind::kNone) {
    const Literal& literal = program_.literals[atom.index];
    allocation = add_constant(Storage::copy_of(literal.bytes.data(), literal.type.nbytes()));
  }
  return allocation;
}

Allocation Allocator::define(uint32_t variable) {
  const uint32_t set = sets_.representative(variable);
  Allocation& allocation = allocations_[set];
  if (allocation.kind == Allocation::Kind::kNone && parts_[set]) {
    allocation = define(parts_[set]->whole);
    const bool is_arena = allocation.kind == Allocation::Kind::kArena;
    (is_arena ? allocation.index : allocation.offset) += parts_[set]->offset;
  } else if (allocation.kind == Allocation::Kind::kNone) {
    allocation = wanted_output_[set] ? Allocation{Allocation::Kind::kOutput, *wanted_output_[set]}
                                     : allocate(program_.variable_types[variable].nbytes());
  }
  if (allocation.kind == Allocation::Kind::kInput) overwrites_[allocation.index] = true;
  return allocation;
}

void Allocator::reuse_operands(const Equation& equation, size_t index, const Layouts& layouts,
                               const Kernel& kernel) {
  if (!kernel.can_run_in_place && kernel.in_place.empty()) return;
  for (const uint32_t output : equation.outputs) {
    reuse_operand(equation, output, index, layouts, kernel);
  }
}

bool Allocator::may_overwrite(const Equation& equation, uint32_t operand, uint32_t output,
                              size_t index, const Layouts& layouts, const Kernel& kernel) const {
  const ShapeDtype type = program_.variable_types[operand];
  const ShapeDtype result = program_.variable_types[output];
  // A scalar operand is read for every element, so it may not be overwritten, even if its byte size
  // fits.
  if (last_read_[operand] != index || sets_.is_read_beside(operand, index) ||
      type.size() != result.size() || type.nbytes() != result.nbytes()) {
    return false;
  }
  const auto number =
      static_cast<uint32_t>(std::ranges::find(equation.outputs, output) - equation.outputs.begin());
  const bool all = kernel.can_run_in_place && equation.outputs.size() == 1;
  // The kernel must permit it for every operand that uses this memory.
  for (uint32_t i = 0; i < equation.inputs.size(); ++i) {
    const Atom input = equation.inputs[i];
    if (!sets_.contains(operand, input)) continue;
    if (layouts.of(input)) return false;
    if (!all && std::ranges::find(kernel.in_place, std::pair(i, number)) == kernel.in_place.end()) {
      return false;
    }
  }
  return true;
}

void Allocator::reuse_operand(const Equation& equation, uint32_t output, size_t index,
                              const Layouts& layouts, const Kernel& kernel) {
  const uint32_t result = sets_.representative(output);
  if (allocations_[result].kind != Allocation::Kind::kNone || parts_[result]) return;
  for (const Atom atom : equation.inputs) {
    if (!atom.is_variable()) continue;
    const uint32_t operand = sets_.representative(atom.index);
    const Allocation allocation = allocations_[operand];
    const bool is_wanted = allocation.kind == Allocation::Kind::kInput &&
                           wanted_input_[result] == std::optional(allocation.index);
    const bool is_free = allocation.kind == Allocation::Kind::kArena ||
                         (allocation.kind == Allocation::Kind::kInput && is_free_[operand]);
    // A result of the program goes to its own memory, or to the input chosen for it.
    if (!is_wanted && (!is_free || wanted_output_[result])) continue;
    if (!may_overwrite(equation, operand, output, index, layouts, kernel)) continue;
    allocations_[result] = allocation;
    last_read_[operand] = kNever;  // its memory lives on as the result's
    allocations_[operand] = {};
    return;
  }
}

std::optional<uint32_t> Allocator::in_own_memory(size_t output) const {
  const Atom atom = program_.outputs[output];
  if (!atom.is_variable()) return std::nullopt;
  const uint32_t set = sets_.representative(atom.index);
  const bool is_own =
      allocations_[set].kind == Allocation::Kind::kOutput && allocations_[set].index == output;
  return is_own ? std::optional(set) : std::nullopt;
}

std::optional<uint32_t> Allocator::share_result(const Equation& equation, uint32_t result,
                                                size_t index, const Layouts& layouts,
                                                const Kernel& kernel,
                                                const std::vector<bool>& is_fixed) {
  for (const Atom atom : equation.inputs) {
    if (!atom.is_variable()) continue;
    const uint32_t operand = sets_.representative(atom.index);
    if (allocations_[operand].kind == Allocation::Kind::kNone && !wanted_input_[operand] &&
        !parts_[operand] && !is_fixed[operand] &&
        may_overwrite(equation, operand, result, index, layouts, kernel)) {
      allocations_[operand] = allocations_[result];
      return operand;
    }
  }
  return std::nullopt;
}

void Allocator::join_operands(const Equation& equation, size_t index, const Layouts& layouts,
                              const std::vector<bool>& is_excluded) {
  const auto* params = try_params<ConcatenateParams>(equation.params.get());
  if (!params) return;
  const auto shape = program_.variable_types[equation.outputs[0]].shape();
  const auto is_one = [](int64_t size) { return size == 1; };
  if (!std::ranges::all_of(shape.first(static_cast<size_t>(params->dimension)), is_one)) return;
  const uint32_t result = sets_.representative(equation.outputs[0]);
  if (allocations_[result].kind == Allocation::Kind::kInput) return;  // which may still be read
  size_t offset = 0;
  for (const Atom atom : equation.inputs) {
    const size_t start = offset;
    offset += program_.type_of(atom).nbytes();
    if (!atom.is_variable() || layouts.of(atom)) continue;
    const uint32_t operand = sets_.representative(atom.index);
    // Without a maker it is an input or a constant.
    if (uses_.made_by[operand] == kNever || allocations_[operand].kind != Allocation::Kind::kNone ||
        wanted_input_[operand] || parts_[operand] || is_excluded[operand] ||
        last_read_[operand] != index) {
      continue;
    }
    parts_[operand] = Part{result, start};
    last_read_[operand] = kNever;  // its memory lives on as a part of the result's
  }
}

void Allocator::release_after(size_t index) {
  const auto release_set = [&](uint32_t variable) {
    const uint32_t set = sets_.representative(variable);
    Allocation& allocation = allocations_[set];
    if (allocation.kind != Allocation::Kind::kArena || last_read_[set] != index) return;
    release(allocation, program_.variable_types[set].nbytes());
    allocation = {};
    last_read_[set] = kNever;  // release it only once
  };
  for (const Atom atom : program_.equations[index].inputs) {
    if (atom.is_variable()) release_set(atom.index);
  }
  std::ranges::for_each(program_.equations[index].outputs, release_set);
}

}  // namespace farcall::native
