#include "engine/native/plan/instructions.h"

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/core/layout.h>
#include <farcall/core/sizes.h>
#include <farcall/core/storage.h>
#include <farcall/core/type_text.h>
#include <farcall/primitives/shard_map.h>
#include <farcall/primitives/structural.h>
#include <farcall/program/located.h>

#include "engine/native/kernels/meshes/shard_map.h"
#include "engine/native/kernels/movement/strided_copy.h"
#include "engine/native/transposes.h"

namespace farcall::native {
namespace {

bool is_join(const Equation& equation) {
  return try_params<ConcatenateParams>(equation.params.get()) != nullptr;
}

}  // namespace

Instructions::Instructions(const Analysis& analysis, Allocator& allocator, Plan& plan)
    : program_(analysis.program),
      uses_(analysis.uses),
      calls_(analysis.calls),
      layouts_(analysis.layouts),
      sharing_(analysis.sharing),
      is_nested_(analysis.is_nested),
      allocator_(allocator),
      plan_(plan),
      row_major_copies_(program_.variable_types.size()),
      report_of_(program_.equations.size(), kNever),
      made_(program_.equations.size()),
      temporaries_(allocator) {}

std::vector<bool> Instructions::seen_by_calls() const {
  std::vector<bool> is_seen(program_.variable_types.size(), false);
  const auto see = [&](uint32_t variable) {
    is_seen[sharing_.sets.representative(variable)] = true;
  };
  for (size_t i = 0; i < program_.equations.size(); ++i) {
    const Equation& equation = program_.equations[i];
    const auto& children = sharing_.regions[i].children;
    const bool calls =
        calls_.at(i) || try_params<ShardMapParams>(equation.params.get()) ||
        std::ranges::any_of(children, [](const auto& child) { return child->has_foreign_code; });
    if (!calls) continue;
    for (const Atom atom : equation.inputs) {
      if (atom.is_variable()) see(atom.index);
    }
    std::ranges::for_each(equation.outputs, see);
  }
  return is_seen;
}

void Instructions::choose_memory_ahead() {
  const bool has_joins = std::ranges::any_of(program_.equations, is_join);
  if (is_nested_ && !has_joins) return;
  std::vector<bool> is_seen = seen_by_calls();
  if (!is_nested_) use_memory_of_results(is_seen);
  if (has_joins) join_operands(std::move(is_seen));
}

void Instructions::use_memory_of_results(const std::vector<bool>& is_seen) {
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    std::optional<uint32_t> variable = allocator_.in_own_memory(i);
    while (variable) {
      const size_t maker = uses_.made_by[*variable];
      if (!runs_kernel(maker)) break;
      const Equation& equation = program_.equations[maker];
      if (!made_[maker]) with_location(equation, [&] { made_[maker] = make_kernel(equation); });
      variable =
          allocator_.share_result(equation, *variable, maker, layouts_, *made_[maker], is_seen);
    }
  }
}

void Instructions::join_operands(std::vector<bool> is_excluded) {
  // Foreign code, and what runs in regions, relies on alignment, which a part may not have.
  for (size_t i = 0; i < program_.equations.size(); ++i) {
    if (runs_kernel(i)) continue;
    for (const uint32_t output : program_.equations[i].outputs) {
      const uint32_t set = sharing_.sets.representative(output);
      if (set == output) is_excluded[set] = true;
    }
  }
  for (size_t i = 0; i < program_.equations.size(); ++i) {
    if (!is_join(program_.equations[i])) continue;
    allocator_.join_operands(program_.equations[i], i, layouts_, is_excluded);
  }
}

bool Instructions::runs_kernel(size_t index) const {
  const Equation& equation = program_.equations[index];
  const PrimitiveKind kind = equation.primitive->kind;
  // A view has its operand's memory, and a new token has no bytes: no instruction is needed.
  const bool is_view = (kind == PrimitiveKind::kView || kind == PrimitiveKind::kTranspose) &&
                       sharing_.sets.is_alias(equation.outputs[0]);
  const bool is_token = equation.inputs.empty() && equation.outputs.size() == 1 &&
                        program_.variable_types[equation.outputs[0]].is_token();
  return !calls_.at(index) && !sharing_.regions[index].region && !is_view && !is_token;
}

void Instructions::add_equation(size_t index) {
  equation_ = static_cast<uint32_t>(index);
  const Equation& equation = program_.equations[index];
  if (calls_.at(index)) {
    add_foreign_call(index);
  } else if (sharing_.regions[index].region) {
    add_region(equation, std::move(sharing_.regions[index]));
  } else if (runs_kernel(index)) {
    add_kernel(equation, index);
  }
}

// Memory is not released until all equations of the group are added, so that none of them writes
// where another one reads or writes.
void Instructions::add_group(EquationGroup group) {
  const bool is_one = group.end - group.begin == 1;
  std::vector<InstructionPart> parts;
  for (size_t i = group.begin; i < group.end && !is_one; ++i) copy_operands(i);
  for (size_t i = group.begin; i < group.end; ++i) {
    poll_interrupt(i);
    const size_t begin = plan_.instructions.size();
    with_location(program_.equations[i], [&] { add_equation(i); });
    if (plan_.instructions.size() == begin) continue;
    parts.push_back({begin, plan_.instructions.size(), scratch_begin_});
    if (!is_one)
      scratch_begin_ = memory_sum(scratch_end_, kAlignment - 1) / kAlignment * kAlignment;
  }
  plan_.scratch_bytes = std::max(plan_.scratch_bytes, scratch_end_);
  scratch_begin_ = scratch_end_ = 0;
  if (parts.size() > 1) plan_.groups.push_back(std::move(parts));
  temporaries_.release();
  for (size_t i = group.begin; i < group.end; ++i) {
    release_copies_after(i);
    allocator_.release_after(i);
  }
}

void Instructions::copy_operands(size_t index) {
  equation_ = static_cast<uint32_t>(index);
  const Equation& equation = program_.equations[index];
  for (size_t i = 0; i < equation.inputs.size(); ++i) {
    row_major_allocation(equation.inputs[i], reader_name(equation, i));
  }
}

Kernel Instructions::make_kernel(const Equation& equation) {
  if (!equation.primitive->never_run.empty()) {
    throw TypeError(std::string(equation.primitive->never_run));
  }
  std::vector<ShapeDtype> inputs, outputs;
  for (const Atom atom : equation.inputs) inputs.push_back(program_.type_of(atom));
  for (const uint32_t output : equation.outputs) {
    outputs.push_back(program_.variable_types[output]);
  }
  // Kernels are not made for empty results: the other sizes of an empty array may overflow.
  const auto is_empty = [](ShapeDtype type) { return !type.is_token() && type.size() == 0; };
  if (!outputs.empty() && std::ranges::all_of(outputs, is_empty)) return {};
  Kernel kernel;
  if (const auto* map = try_params<ShardMapParams>(equation.params.get())) {
    // Its threads may call code of the front end, so this thread must not hold the front end's
    // lock.
    plan_.has_foreign_code = true;
    plan_.nested.push_back(compile_body(*map));
    kernel = make_shard_map(inputs, outputs, *map, plan_.nested.back(),
                            only_parts_read(program_, equation, is_nested_));
  } else if (const FoundKernel factory = find_kernel(equation.primitive->name)) {
    kernel = factory(inputs, outputs, equation.params.get());
  }
  if (!kernel.run) {
    throw Error(ErrorCode::kUnimplemented,
                fmt::format("{}: the native engine has no kernel for operands ({})",
                            equation.primitive->name, types_to_string(inputs)));
  }
  return kernel;
}

void Instructions::add_kernel(const Equation& equation, size_t index) {
  Kernel kernel = made_[index] ? std::move(*made_[index]) : make_kernel(equation);
  if (!kernel.run) {
    for (const uint32_t output : equation.outputs) allocator_.define(output);
    return;
  }
  std::vector<Allocation> operands;
  for (size_t i = 0; i < equation.inputs.size(); ++i) {
    operands.push_back(row_major_allocation(equation.inputs[i], reader_name(equation, i)));
  }
  allocator_.reuse_operands(equation, index, layouts_, kernel);
  for (const uint32_t output : equation.outputs) operands.push_back(allocator_.define(output));
  add_kernel(std::move(kernel), operands);
}

uint32_t Instructions::add_operands(std::span<const Allocation> operands, bool needs_alignment) {
  const auto first = static_cast<uint32_t>(plan_.num_operands);
  for (const Allocation allocation : operands) {
    plan_.pointers.push_back({.index = static_cast<uint32_t>(plan_.num_operands++),
                              .needs_alignment = needs_alignment,
                              .allocation = allocation});
  }
  return first;
}

void Instructions::add(Instruction instruction) {
  instruction.equation = equation_;
  plan_.instructions.push_back(instruction);
}

void Instructions::add_kernel(Kernel kernel, std::span<const Allocation> operands, bool is_copy) {
  Instruction instruction{Instruction::Kind::kKernel};
  instruction.first_operand = add_operands(operands, /*needs_alignment=*/false);
  instruction.run = kernel.run;
  instruction.data = kernel.data.get();
  scratch_end_ = std::max(scratch_end_, memory_sum(scratch_begin_, kernel.scratch_bytes));
  plan_.kernels.push_back(std::move(kernel));
  instruction.is_copy = is_copy;
  add(instruction);
}

// Copies an array from one layout to another.
void Instructions::add_copy(ShapeDtype type, Allocation from, const MajorToMinor& from_layout,
                            Allocation to, const MajorToMinor& to_layout) {
  const auto strides = [&](const MajorToMinor& layout) {
    return strides_of(type.shape(), layout ? Layout{*layout} : row_major(type.rank()));
  };
  Kernel kernel;
  kernel.data = std::make_shared<const StridedCopy>(byte_width(type.dtype()), type.shape(),
                                                    strides(from_layout), strides(to_layout));
  kernel.run = [](const KernelCall& call) {
    static_cast<const StridedCopy*>(call.data)->run(call.operands[0], call.operands[1]);
  };
  const Allocation operands[] = {from, to};
  add_kernel(std::move(kernel), operands, /*is_copy=*/true);
}

Allocation Instructions::Temporaries::add(size_t nbytes) {
  const Allocation allocation = allocator_.allocate(nbytes);
  all_.emplace_back(allocation, nbytes);
  return allocation;
}

void Instructions::Temporaries::release() {
  for (const auto& [allocation, nbytes] : all_) allocator_.release(allocation, nbytes);
  all_.clear();
}

// ---- row-major copies ----

Allocation Instructions::row_major_allocation(Atom atom, std::string_view reader) {
  const MajorToMinor layout = layouts_.of(atom);
  if (!layout) return allocator_.of(atom);
  Allocation& copy = row_major_copies_[atom.index];
  if (copy.kind == Allocation::Kind::kNone) {
    const ShapeDtype type = program_.type_of(atom);
    copy = allocator_.allocate(type.nbytes());
    add_copy(type, allocator_.of(atom), layout, copy, {});
    ++plan_.statistics.layout_copies;
    if (!reader.empty()) report_copy_of_result(atom.index, reader);
  }
  return copy;
}

// Adds the copy to the report of the foreign call that made the value.
void Instructions::report_copy_of_result(uint32_t variable, std::string_view reader) {
  const auto maker = [&] { return uses_.made_by[variable]; };
  // Looks through transposes in between.
  while (maker() != kNever && is_transpose(program_.equations[maker()])) {
    const Atom operand = program_.equations[maker()].inputs[0];
    if (!operand.is_variable()) return;
    variable = operand.index;
  }
  if (maker() == kNever || report_of_[maker()] == kNever) return;
  const std::vector<uint32_t>& results = program_.equations[maker()].outputs;
  const auto number = std::ranges::find(results, variable) - results.begin();
  plan_.reports[report_of_[maker()]].report.copies.push_back(
      {fmt::format("result {}", number),
       fmt::format("{} reads it row-major, the handler writes another layout", reader),
       program_.variable_types[variable].nbytes()});
}

void Instructions::release_copies_after(size_t index) {
  const auto release = [&](uint32_t variable) {
    Allocation& copy = row_major_copies_[variable];
    if (copy.kind == Allocation::Kind::kNone || uses_.last_read[variable] != index) return;
    allocator_.release(copy, program_.variable_types[variable].nbytes());
    copy = {};
  };
  for (const Atom atom : program_.equations[index].inputs) {
    if (atom.is_variable()) release(atom.index);
  }
  std::ranges::for_each(program_.equations[index].outputs, release);
}

// ---- loops and branches ----

void Instructions::add_child(std::unique_ptr<const Plan> child) {
  plan_.has_foreign_code |= child->has_foreign_code;
  plan_.has_execution_stages |= child->has_execution_stages;
  plan_.statistics.alias_copies += child->statistics.alias_copies;
  plan_.statistics.layout_copies += child->statistics.layout_copies;
  plan_.reports.insert(plan_.reports.end(), child->reports.begin(), child->reports.end());
  plan_.children.push_back(std::move(child));
}

void Instructions::add_region(const Equation& equation, PlannedRegion region) {
  std::vector<Allocation> operands;
  for (const Atom atom : equation.inputs) {
    operands.push_back(row_major_allocation(atom, equation.primitive->name));
  }
  for (const size_t operand : region.overwrites) {
    const Allocation allocation = operands[operand];
    if (allocation.kind == Allocation::Kind::kInput) allocator_.mark_overwritten(allocation.index);
  }
  for (auto& child : region.children) add_child(std::move(child));
  plan_.statistics.alias_copies += region.alias_copies;
  for (const uint32_t output : equation.outputs) operands.push_back(allocator_.define(output));
  for (const Carry& carry : region.carries) {
    const bool alternates = !carry.is_in_place && !carry.is_invariant;
    operands.push_back(alternates ? temporaries_.add(carry.nbytes) : Allocation());
  }
  Instruction instruction{region.kind};
  instruction.first_operand = add_operands(operands, /*needs_alignment=*/true);
  instruction.data = region.region.get();
  plan_.regions.push_back(std::move(region.region));
  add(instruction);
}

// ---- the end ----

void Instructions::add_outputs(const PlanOptions& options) {
  equation_ = static_cast<uint32_t>(program_.equations.size());
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    const ShapeDtype type = program_.type_of(program_.outputs[i]);
    const Allocation allocation = row_major_allocation(program_.outputs[i], "the caller");
    plan_.outputs.push_back({type.nbytes(), allocation});
    if (!options.is_nested) continue;
    const Allocation wanted{Allocation::Kind::kOutput, i};
    if (allocation.kind == wanted.kind && allocation.index == wanted.index) continue;
    const std::pair own(allocation.index, i);
    if (allocation.kind == Allocation::Kind::kInput &&
        std::ranges::find(options.in_place, own) != options.in_place.end()) {
      continue;
    }
    add_copy(type, allocation, {}, wanted, {});
    plan_.outputs.back().allocation = wanted;
  }
}

}  // namespace farcall::native
