// Foreign calls in a plan: aliases, layouts, and the pointers of their frames.
#include <farcall/core/error.h>
#include <farcall/core/layout.h>

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

// The operand whose memory this result takes over.
std::optional<int64_t> aliased_input(const FfiCallParams& params, size_t output) {
  for (const auto& [input, aliased] : params.input_output_aliases) {
    if (aliased == static_cast<int64_t>(output)) return input;
  }
  return std::nullopt;
}

}  // namespace

// Whether the layout puts the elements in row-major order: dimensions of size 1 may stand anywhere.
bool is_row_major_in_memory(ShapeDtype type, const MajorToMinor& layout) {
  if (!layout || type.size() == 0) return true;
  int64_t previous = -1;
  for (const int64_t axis : *layout) {
    if (type.shape()[axis] == 1) continue;
    if (axis < previous) return false;
    previous = axis;
  }
  return true;
}

void Planner::share_foreign_call(size_t index) {
  const Equation& equation = program_.equations[index];
  const auto& params = params_as<FfiCallParams>(equation.params.get());
  for (const auto& [input, output] : params.input_output_aliases) {
    // A token has no memory to take over.
    if (params.result_types[output].is_token()) continue;
    if (may_take_over(equation, index, input)) {
      join(equation.outputs[output], equation.inputs[input].index);
    } else {
      copies_alias_[index].push_back(output);
    }
  }
}

void Planner::plan_foreign_call(size_t index) {
  const Equation& equation = program_.equations[index];
  const auto& params = params_as<FfiCallParams>(equation.params.get());
  ForeignCallSpec spec;
  spec.target = find(params);
  for (const Atom atom : equation.inputs) spec.arguments.push_back(program_.type_of(atom));
  spec.results = params.result_types;
  spec.attributes = params.attributes;
  spec.custom_call_api_version = static_cast<int>(params.custom_call_api_version);
  spec.legacy_backend_config = params.legacy_backend_config.value_or("");

  std::vector<Place> arguments, results;
  Temporaries temporaries;
  for (size_t i = 0; i < equation.inputs.size(); ++i) {
    arguments.push_back(argument_place(equation.inputs[i], params.input_layouts[i], temporaries));
  }
  for (size_t i = 0; i < equation.outputs.size(); ++i) {
    const ShapeDtype type = params.result_types[i];
    const Place place = define(equation.outputs[i]);
    if (is_row_major_in_memory(type, params.output_layouts[i])) {
      results.push_back(place);
    } else if (const auto input = aliased_input(params, i)) {
      // The operand has been copied into its layout already: that copy may be written over.
      results.push_back(arguments[*input]);
    } else {
      results.push_back(add_temporary(type.nbytes(), temporaries));
    }
  }
  for (const int64_t output : copies_alias_[index]) {
    const ShapeDtype type = params.result_types[output];
    if (!is_row_major_in_memory(type, params.output_layouts[output])) continue;
    Place& argument = arguments[*aliased_input(params, static_cast<size_t>(output))];
    add_copy(type, argument, {}, results[output], {});
    ++plan_->statistics.alias_copies;
    argument = results[output];
  }
  add_call(std::move(spec), arguments, results);
  for (size_t i = 0; i < results.size(); ++i) {
    const ShapeDtype type = params.result_types[i];
    if (is_row_major_in_memory(type, params.output_layouts[i])) continue;
    add_copy(type, results[i], params.output_layouts[i], define(equation.outputs[i]), {});
    ++plan_->statistics.layout_copies;
  }
  release(temporaries);
}

Place Planner::add_temporary(size_t nbytes, Temporaries& temporaries) {
  const Place place{Place::Kind::kArena, arena_.allocate(nbytes)};
  temporaries.emplace_back(place, nbytes);
  return place;
}

void Planner::release(const Temporaries& temporaries) {
  for (const auto& [place, nbytes] : temporaries) arena_.release(place.index, nbytes);
}

Place Planner::argument_place(Atom atom, const MajorToMinor& layout, Temporaries& temporaries) {
  const ShapeDtype type = program_.type_of(atom);
  const Place place = place_of(atom);
  if (is_row_major_in_memory(type, layout)) return place;
  const Place temporary = add_temporary(type.nbytes(), temporaries);
  add_copy(type, place, {}, temporary, layout);
  ++plan_->statistics.layout_copies;
  return temporary;
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
