// Foreign calls in a plan: aliases, layouts, and the pointers of their frames.
#include <farcall/core/error.h>
#include <farcall/core/layout.h>
#include <farcall/ffi/workspace.h>
#include <farcall/program/text.h>

#include <fmt/format.h>

#include "engine/native/planner.h"

namespace farcall::native {
namespace {

std::shared_ptr<const Target> find(const FfiCallParams& params) {
  try {
    return find_target(params.target_name, "cpu", static_cast<int>(params.custom_call_api_version));
  } catch (const FfiError&) {
    throw;
  } catch (const Error& error) {
    // The registry's text names the target already.
    FfiError(error.code(), params.target_name, error.message())
        .raise_with(fmt::format("{}: {}", error_code_name(error.code()), error.message()));
    throw;  // not reached; raise_with does not return
  }
}

// The result that takes over this operand's memory.
std::optional<size_t> aliased_output(const FfiCallParams& params, size_t input) {
  for (const auto& [aliased, output] : params.input_output_aliases) {
    if (aliased == static_cast<int64_t>(input)) return static_cast<size_t>(output);
  }
  return std::nullopt;
}

}  // namespace

const FfiCallParams* Planner::foreign_call(size_t index) const {
  if (callbacks_[index]) return &*callbacks_[index];
  const Equation& equation = program_.equations[index];
  if (equation.primitive->kind != PrimitiveKind::kForeignCall) return nullptr;
  return &params_as<FfiCallParams>(equation.params.get());
}

std::shared_ptr<const Target> Planner::target_of(size_t index) const {
  const CallbackParams* callback = try_callback(program_.equations[index].params.get());
  return callback ? callback->callback->target : find(*foreign_call(index));
}

void Planner::share_foreign_call(size_t index) {
  const Equation& equation = program_.equations[index];
  const FfiCallParams& params = *foreign_call(index);
  choose_result_layouts(index);
  // An operand that is aliased twice is handed over once as it is, and once in a copy.
  std::vector<uint32_t> taken;
  const auto num_aliases = [&](uint32_t variable) {
    return static_cast<size_t>(std::ranges::count_if(
        params.input_output_aliases,
        [&](const auto& alias) { return lies_in(equation.inputs[alias.first], variable); }));
  };
  const auto why_not = [&](size_t input) -> std::string {
    const Atom operand = equation.inputs[input];
    if (!operand.is_variable()) return why_not_take_over(equation, index, input);
    const uint32_t variable = root(operand.index);
    if (std::ranges::find(taken, variable) != taken.end()) {
      return "another result has the operand's memory";
    }
    return why_not_take_over(equation, index, input, num_aliases(variable) - 1);
  };
  for (const auto& [input, output] : params.input_output_aliases) {
    const Atom operand = equation.inputs[input];
    std::string refusal;
    // A token has no memory to take over.
    if (!params.result_types[output].is_token()) {
      refusal = is_same_in_memory(params.result_types[output], layout_of(operand),
                                  params.input_layouts[input])
                    ? why_not(input)
                    : "the operand is copied into another layout";
      if (refusal.empty()) {
        join(equation.outputs[output], operand.index);
        taken.push_back(root(operand.index));
      }
    }
    alias_refusals_[index].push_back(std::move(refusal));
  }
}

void Planner::plan_foreign_call(size_t index) {
  const Equation& equation = program_.equations[index];
  const FfiCallParams& params = *foreign_call(index);
  ForeignCallSpec spec;
  spec.target = target_of(index);
  for (const Atom atom : equation.inputs) spec.arguments.push_back(program_.type_of(atom));
  spec.results = params.result_types;
  spec.attributes = params.attributes;
  spec.custom_call_api_version = static_cast<int>(params.custom_call_api_version);
  spec.legacy_backend_config = params.legacy_backend_config.value_or("");
  if (equation.where) spec.where = to_text(*equation.where);

  report_of_[index] = plan_->reports.size();
  ForeignCallReport report{.target_name = params.target_name, .where = equation.where};
  for (size_t i = 0; i < params.input_output_aliases.size(); ++i) {
    const auto& [input, output] = params.input_output_aliases[i];
    const std::string& refusal = alias_refusals_[index][i];
    report.aliases.push_back({input, output, refusal.empty(), refusal});
  }
  // Where the handler writes: the result's memory, or a place of its layout to be copied from.
  std::vector<Place> arguments, results;
  Temporaries temporaries;
  const auto is_copied = [&](size_t i) {
    return !is_same_in_memory(params.result_types[i], params.output_layouts[i],
                              layouts_[equation.outputs[i]]);
  };
  for (size_t i = 0; i < equation.outputs.size(); ++i) {
    const Place place = define(equation.outputs[i]);
    results.push_back(is_copied(i) ? add_temporary(params.result_types[i].nbytes(), temporaries)
                                   : place);
  }
  for (size_t i = 0; i < equation.inputs.size(); ++i) {
    arguments.push_back(argument_place(equation, params, i, results, temporaries, report));
  }
  const CallbackParams* callback = try_callback(equation.params.get());
  plan_->has_foreign_code |= !callback || !callback->callback->takes_lock_of_front;
  if (!callback && !spec.target->is_untyped()) {
    spec.workspace_bytes =
        workspace_bytes(params.target_name, spec.arguments, spec.results, spec.attributes);
  }
  report.planned_scratch_bytes = spec.workspace_bytes;
  if (spec.workspace_bytes > 0) {
    plan_->workspaces.push_back({static_cast<uint32_t>(plan_->calls.size()),
                                 add_temporary(spec.workspace_bytes, temporaries)});
  }
  add_call(std::move(spec), arguments, results);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!is_copied(i)) continue;
    report.copies.push_back({fmt::format("result {}", i),
                             "the program returns it row-major, the handler writes another layout",
                             params.result_types[i].nbytes()});
    add_copy(params.result_types[i], results[i], params.output_layouts[i],
             define(equation.outputs[i]), {});
    ++plan_->statistics.layout_copies;
  }
  release(temporaries);
  plan_->reports.push_back({std::move(report), plan_->calls.back().get()});
}

Place Planner::add_temporary(size_t nbytes, Temporaries& temporaries) {
  const Place place{Place::Kind::kArena, arena_.allocate(nbytes)};
  temporaries.emplace_back(place, nbytes);
  return place;
}

void Planner::release(const Temporaries& temporaries) {
  for (const auto& [place, nbytes] : temporaries) arena_.release(place.index, nbytes);
}

// An operand that a result takes over is handed over in that result's memory.
Place Planner::argument_place(const Equation& equation, const FfiCallParams& params, size_t input,
                              std::span<const Place> results, Temporaries& temporaries,
                              ForeignCallReport& report) {
  const Atom atom = equation.inputs[input];
  const ShapeDtype type = program_.type_of(atom);
  const MajorToMinor& wanted = params.input_layouts[input];
  const auto note = [&](std::string_view why) {
    report.copies.push_back({fmt::format("operand {}", input), std::string(why), type.nbytes()});
  };
  const auto copy_to = [&](Place target) {
    add_copy(type, place_of(atom), layout_of(atom), target, wanted);
    ++plan_->statistics.layout_copies;
    note("the handler wants another layout than the value has");
    return target;
  };
  // As it lies, or in row-major order, which others may want too; else it is copied for this call.
  std::optional<Place> place;
  if (is_same_in_memory(type, layout_of(atom), wanted)) {
    place = place_of(atom);
  } else if (is_row_major_in_memory(type, wanted)) {
    if (row_major_copies_[atom.index].kind == Place::Kind::kNone) {
      note("the handler wants it row-major, another handler made it in its own layout");
    }
    place = row_major_place(atom, {});
  }
  if (const auto output = aliased_output(params, input); output && !type.is_token()) {
    const Place target = results[*output];
    if (!place) return copy_to(target);
    if (place->kind != target.kind || place->index != target.index) {
      add_copy(type, *place, wanted, target, wanted);
      ++plan_->statistics.alias_copies;
      note("the handler writes over it, and it is still needed");
    }
    return target;
  }
  return place ? *place : copy_to(add_temporary(type.nbytes(), temporaries));
}

void Planner::add_call(ForeignCallSpec spec, std::span<const Place> arguments,
                       std::span<const Place> results) {
  Instruction instruction{Instruction::Kind::kForeignCall};
  instruction.call = static_cast<uint32_t>(plan_->calls.size());
  plan_->calls.push_back(std::make_unique<const ForeignCall>(std::move(spec)));
  plan_->has_execution_stages |= plan_->calls.back()->has_execution_stages();
  for (size_t i = 0; i < arguments.size(); ++i) {
    plan_->pointers.push_back({.call = instruction.call,
                               .index = static_cast<uint32_t>(i),
                               .is_result = false,
                               .needs_alignment = true,
                               .place = arguments[i]});
  }
  for (size_t i = 0; i < results.size(); ++i) {
    plan_->pointers.push_back({.call = instruction.call,
                               .index = static_cast<uint32_t>(i),
                               .is_result = true,
                               .place = results[i]});
  }
  plan_->instructions.push_back(instruction);
}

}  // namespace farcall::native
