// Foreign calls in a plan: copies for layouts and aliases, and the pointers in their call frames.
#include <optional>

#include <fmt/format.h>

#include <farcall/core/layout.h>
#include <farcall/ffi/workspace.h>
#include <farcall/program/text.h>

#include "engine/native/plan/instructions.h"

namespace farcall::native {
namespace {

// The result that is aliased to this operand.
std::optional<size_t> aliased_output(const FfiCallParams& params, size_t input) {
  for (const auto& [aliased, output] : params.input_output_aliases) {
    if (aliased == static_cast<int64_t>(input)) return static_cast<size_t>(output);
  }
  return std::nullopt;
}

}  // namespace

ForeignCallSpec Instructions::spec_of(size_t index) const {
  const Equation& equation = program_.equations[index];
  const FfiCallParams& call = *calls_.at(index);
  ForeignCallSpec spec;
  spec.target = calls_.target_of(index);
  for (const Atom atom : equation.inputs) spec.arguments.push_back(program_.type_of(atom));
  spec.results = call.result_types;
  spec.attributes = call.attributes;
  spec.custom_call_api_version = static_cast<int>(call.custom_call_api_version);
  spec.legacy_backend_config = call.legacy_backend_config.value_or("");
  if (equation.where) spec.where = to_text(*equation.where);
  if (!calls_.callback_at(index) && !spec.target->is_untyped()) {
    spec.workspace_bytes =
        workspace_bytes(call.target_name, spec.arguments, spec.results, spec.attributes);
  }
  return spec;
}

void Instructions::add_foreign_call(size_t index) {
  const Equation& equation = program_.equations[index];
  const FfiCallParams& call = *calls_.at(index);
  ForeignCallSpec spec = spec_of(index);
  report_of_[index] = plan_.reports.size();
  ForeignCallReport report{.target_name = call.target_name, .where = equation.where};
  for (size_t i = 0; i < call.input_output_aliases.size(); ++i) {
    const auto& [input, output] = call.input_output_aliases[i];
    const std::string& refusal = sharing_.refusals[index][i];
    report.aliases.push_back({input, output, refusal.empty(), refusal});
  }
  // Where the handler writes: the result's memory, or temporary memory in the handler's layout.
  std::vector<Allocation> arguments, results;
  const auto is_copied = [&](size_t i) {
    return !is_same_in_memory(call.result_types[i], call.output_layouts[i],
                              layouts_.of(equation.outputs[i]));
  };
  for (size_t i = 0; i < equation.outputs.size(); ++i) {
    const Allocation allocation = allocator_.define(equation.outputs[i]);
    results.push_back(is_copied(i) ? before_copy(index, i) : allocation);
  }
  for (size_t i = 0; i < equation.inputs.size(); ++i) {
    arguments.push_back(argument_allocation(equation, call, i, results, report));
  }
  const CallbackParams* callback = calls_.callback_at(index);
  plan_.has_foreign_code |= !callback || !callback->callback->takes_lock_of_front;
  report.planned_scratch_bytes = spec.workspace_bytes;
  if (spec.workspace_bytes > 0) {
    plan_.workspaces.push_back(
        {static_cast<uint32_t>(plan_.calls.size()), temporaries_.add(spec.workspace_bytes)});
  }
  add_call(std::move(spec), arguments, results);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!is_copied(i)) continue;
    report.copies.push_back({fmt::format("result {}", i),
                             "the program returns it row-major, the handler writes another layout",
                             call.result_types[i].nbytes()});
    add_copy(call.result_types[i], results[i], call.output_layouts[i],
             allocator_.define(equation.outputs[i]), {});
    ++plan_.statistics.layout_copies;
  }
  plan_.reports.push_back({std::move(report), plan_.calls.back().get()});
}

// Where the handler writes a result that is copied afterwards: over its operand if that is not
// needed any more.
Allocation Instructions::before_copy(size_t index, size_t result) {
  const FfiCallParams& call = *calls_.at(index);
  for (size_t i = 0; i < call.input_output_aliases.size(); ++i) {
    const auto& [input, output] = call.input_output_aliases[i];
    if (output != static_cast<int64_t>(result) || !sharing_.refusals[index][i].empty()) continue;
    const Allocation allocation =
        allocator_.of(program_.equations[index].inputs[static_cast<size_t>(input)]);
    if (allocation.kind == Allocation::Kind::kInput) allocator_.mark_overwritten(allocation.index);
    return allocation;
  }
  return temporaries_.add(call.result_types[result].nbytes());
}

// If a result is aliased to the operand, the operand is passed in that result's memory.
Allocation Instructions::argument_allocation(const Equation& equation, const FfiCallParams& call,
                                             size_t input, std::span<const Allocation> results,
                                             ForeignCallReport& report) {
  const Atom atom = equation.inputs[input];
  const ShapeDtype type = program_.type_of(atom);
  const MajorToMinor& wanted = call.input_layouts[input];
  const auto note = [&](std::string_view why) {
    report.copies.push_back({fmt::format("operand {}", input), std::string(why), type.nbytes()});
  };
  const auto copy_to = [&](Allocation target) {
    add_copy(type, allocator_.of(atom), layouts_.of(atom), target, wanted);
    ++plan_.statistics.layout_copies;
    note("the handler needs another layout than the value's");
    return target;
  };
  // In place, or as a row-major copy, which other readers share; else as a copy for this call only.
  std::optional<Allocation> allocation;
  if (is_same_in_memory(type, layouts_.of(atom), wanted)) {
    allocation = allocator_.of(atom);
  } else if (is_row_major_in_memory(type, wanted)) {
    if (row_major_copies_[atom.index].kind == Allocation::Kind::kNone) {
      note("the handler needs it row-major, another handler wrote it in its own layout");
    }
    allocation = row_major_allocation(atom, {});
  }
  if (const auto output = aliased_output(call, input); output && !type.is_token()) {
    const Allocation target = results[*output];
    if (!allocation) return copy_to(target);
    if (allocation->kind != target.kind || allocation->index != target.index) {
      add_copy(type, *allocation, wanted, target, wanted);
      ++plan_.statistics.alias_copies;
      note("the handler overwrites the operand, which is still needed");
    }
    return target;
  }
  return allocation ? *allocation : copy_to(temporaries_.add(type.nbytes()));
}

void Instructions::add_call(ForeignCallSpec spec, std::span<const Allocation> arguments,
                            std::span<const Allocation> results) {
  Instruction instruction{Instruction::Kind::kForeignCall};
  instruction.call = static_cast<uint32_t>(plan_.calls.size());
  plan_.calls.push_back(std::make_unique<const ForeignCall>(std::move(spec)));
  plan_.has_execution_stages |= plan_.calls.back()->has_execution_stages();
  for (size_t i = 0; i < arguments.size(); ++i) {
    plan_.pointers.push_back({.call = instruction.call,
                              .index = static_cast<uint32_t>(i),
                              .is_result = false,
                              .needs_alignment = true,
                              .allocation = arguments[i]});
  }
  for (size_t i = 0; i < results.size(); ++i) {
    plan_.pointers.push_back({.call = instruction.call,
                              .index = static_cast<uint32_t>(i),
                              .is_result = true,
                              .allocation = results[i]});
  }
  add(instruction);
}

}  // namespace farcall::native
