// The primitives checkpoint and name.
#include <farcall/trace/checkpoint.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/primitives/call.h>
#include <farcall/primitives/convolution.h>
#include <farcall/primitives/dot_general.h>
#include <farcall/program/walk.h>
#include <farcall/trace/varying.h>

#include "trace/calls/call_rules.h"

namespace farcall {
namespace {

// ---- policies ----

using Names = std::vector<std::string>;

const NameParams* name_of(const Equation& equation) {
  return try_params<NameParams>(equation.params.get());
}
bool is_among(const Names& names, const NameParams& params) {
  return std::ranges::find(names, params.name) != names.end();
}

struct NamedPolicy {
  std::string_view name;
  bool (*keeps)(const Equation& equation, const Names& names);
};
constexpr NamedPolicy kPolicies[] = {
    {"nothing_saveable", [](const Equation&, const Names&) { return false; }},
    {"everything_saveable", [](const Equation&, const Names&) { return true; }},
    {"dots_saveable",
     [](const Equation& equation, const Names&) {
       return try_params<DotGeneralParams>(equation.params.get()) ||
              try_params<ConvParams>(equation.params.get());
     }},
    {"dots_with_no_batch_dims_saveable",
     [](const Equation& equation, const Names&) {
       const auto* dot = try_params<DotGeneralParams>(equation.params.get());
       return dot && dot->lhs_batch.empty();
     }},
    {"save_only_these_names",
     [](const Equation& equation, const Names& names) {
       const NameParams* name = name_of(equation);
       return name && is_among(names, *name);
     }},
    {"save_any_names_but_these",
     [](const Equation& equation, const Names& names) {
       const NameParams* name = name_of(equation);
       return name && !is_among(names, *name);
     }},
    {"save_anything_except_these_names",
     [](const Equation& equation, const Names& names) {
       const NameParams* name = name_of(equation);
       return !name || !is_among(names, *name);
     }},
};

const NamedPolicy& find_policy(std::string_view name) {
  const auto it = std::ranges::find(kPolicies, name, &NamedPolicy::name);
  if (it != std::end(kPolicies)) return *it;
  std::vector<std::string_view> all;
  for (const NamedPolicy& policy : kPolicies) all.push_back(policy.name);
  invalid_argument(fmt::format("checkpoint: unknown policy {}; expected one of: {}", name,
                               fmt::join(all, ", ")));
}

// ---- partial evaluation ----

// Inlines the calls of jitted functions.
ProgramPtr with_calls_opened(const Program& program) {
  check_expansion(program, "checkpoint");
  const EquationRule open = [&open](const Equation& equation, std::span<const Array> operands) {
    if (try_params<JitParams>(equation.params.get())) {
      return evaluate(*called_program(equation), operands, open);
    }
    return bind_primitive(*equation.primitive, equation.params, operands);
  };
  return record([&](std::span<const Array> inputs) { return evaluate(program, inputs, open); },
                program.input_types(), program.name);
}

// A program cut in two: its last outputs are recomputed from the inputs and a few saved results.
// Results of equations with effects are always saved, so that no effect happens twice.
struct Cut {
  ProgramPtr first;  // inputs to the other outputs, then the saved results
  ProgramPtr again;  // inputs, then the saved results, to the last outputs
};

Cut cut(const Program& program, size_t num_last, const CheckpointParams& params) {
  const NamedPolicy& policy = find_policy(params.policy);
  std::vector<bool> is_needed(program.variable_types.size(), false);
  const auto need = [&](std::span<const Atom> atoms) {
    for (const Atom atom : atoms) {
      if (atom.is_variable()) is_needed[atom.index] = true;
    }
  };
  const auto last = static_cast<int64_t>(program.outputs.size() - num_last);
  Program first = program, again = program;
  again.outputs.erase(again.outputs.begin(), again.outputs.begin() + last);
  first.outputs.erase(first.outputs.begin() + last, first.outputs.end());
  again.equations.clear();
  need(again.outputs);
  for (size_t i = program.equations.size(); i-- > 0;) {
    const Equation& equation = program.equations[i];
    const auto wanted = [&](uint32_t variable) -> bool { return is_needed[variable]; };
    if (std::ranges::none_of(equation.outputs, wanted)) continue;
    if (has_effect(equation.effects) || policy.keeps(equation, params.names)) {
      for (const uint32_t output : equation.outputs) {
        if (!wanted(output)) continue;
        first.outputs.push_back(Atom::variable(output));
        again.inputs.push_back(output);
      }
    } else {
      need(equation.inputs);
      again.equations.push_back(equation);
    }
  }
  std::ranges::reverse(again.equations);
  return {std::make_shared<const Program>(std::move(first)),
          std::make_shared<const Program>(std::move(again))};
}

struct CheckpointSplit {
  ProgramPtr known;  // known inputs to known outputs, then the saved results
  ProgramPtr again;  // all inputs, then the saved results, to unknown outputs
  std::vector<bool> is_unknown;
};

CheckpointSplit split_checkpoint(const CheckpointParams& params,
                                 const std::vector<bool>& is_unknown) {
  const ProgramPtr& program = params.jaxpr;
  std::vector<int64_t> key(is_unknown.begin(), is_unknown.end());
  const std::string kind =
      fmt::format("checkpoint {} {}", params.policy, fmt::join(params.names, " "));
  return program->derived.find_or_make<CheckpointSplit>(kind, std::move(key), [&] {
    const ProgramPartialEval split = partial_eval_program(program, is_unknown);
    const bool may_keep = params.policy != SavePolicy().name || has_effect(split.known->effects());
    const ProgramPtr whole = may_keep ? with_calls_opened(*split.known) : split.known;
    const Cut parts = cut(*whole, split.num_residuals, params);
    std::vector<ShapeDtype> types = program->input_types();
    const size_t count = types.size();
    const auto kept = parts.again->input_types();
    types.insert(types.end(), kept.begin() + static_cast<int64_t>(split.known->inputs.size()),
                 kept.end());
    CheckpointSplit result;
    result.is_unknown = split.is_unknown;
    result.known = parts.first;
    result.again = record(
        [&](std::span<const Array> all) {
          const auto inputs = all.first(count), saved = all.subspan(count);
          std::vector<Array> known = select<Array>(inputs, is_unknown, /*wanted=*/false);
          known.insert(known.end(), saved.begin(), saved.end());
          std::vector<Array> operands = evaluate(*parts.again, known);
          const auto unknown = select<Array>(inputs, is_unknown);
          operands.insert(operands.end(), unknown.begin(), unknown.end());
          return evaluate(*split.unknown, operands);
        },
        types, program->name);
    return result;
  });
}

extern const Primitive kCheckpoint;

// Runs the known part now. The recorded part receives the operands and the results that the policy
// saves, and begins by recomputing the other residuals.
std::vector<Array> checkpoint_partial(const PartialCall& call) {
  const auto& params = params_as<CheckpointParams>(call.params.get());
  const CheckpointSplit split = split_checkpoint(params, call.is_unknown);
  const std::vector<Array> known =
      call_program(split.known, select<Array>(call.inputs, call.is_unknown, /*wanted=*/false));
  const auto num_known = std::ranges::count(split.is_unknown, false);
  std::vector<Array> operands(call.inputs.begin(), call.inputs.end());
  operands.insert(operands.end(), known.begin() + num_known, known.end());
  const std::vector<Array> rest = call.recorder.process(
      kCheckpoint, with_program<CheckpointParams>(call.params.get(), split.again), operands);
  return merge<Array>(split.is_unknown, rest,
                      std::span(known).first(static_cast<size_t>(num_known)));
}

const TransformRules kCheckpointRules = {.jvp = call_jvp<CheckpointParams>,
                                         .transpose = call_transpose<CheckpointParams>,
                                         .batch = call_batch<CheckpointParams>,
                                         .partial_eval = checkpoint_partial};
const Primitive kCheckpoint = call_primitive<CheckpointParams>("checkpoint", &kCheckpointRules);

// ---- name ----

std::vector<ShapeDtype> same_type(std::span<const ShapeDtype> inputs, const Params*) {
  if (inputs.size() != 1) {
    invalid_argument(fmt::format("name: takes 1 operand, got {}", inputs.size()));
  }
  return {inputs[0]};
}

// Only the value is named, not the tangent.
JvpResults name_jvp(const JvpCall& call) {
  return {bind_primitive(call.primitive, call.params, call.primals), {call.tangents[0]}};
}

std::vector<Array> name_transpose(const TransposeCall& call) { return {call.cotangents[0]}; }

const TransformRules kNameRules = {
    .jvp = name_jvp, .transpose = name_transpose, .batch = same_axis_batch};
const Primitive kName = {.name = "name",
                         .type_rule = same_type,
                         .parse = parse_params<NameParams>,
                         .flops = [](std::span<const ShapeDtype>, std::span<const ShapeDtype>,
                                     const Params*) -> int64_t { return 0; },
                         .rules = &kNameRules,
                         .kind = PrimitiveKind::kView};

const bool kCheckpointRegistered = [] {
  register_primitive(kCheckpoint);
  register_primitive(kName);
  return true;
}();

}  // namespace

std::vector<Array> checkpoint(const FlatFunction& function, std::span<const Array> inputs,
                              const CheckpointOptions& options) {
  find_policy(options.policy.name);
  const Recording recording =
      record_closure(function, types_of(inputs), varying_axes(inputs), options.name);
  std::vector<Array> operands = recording.captured;
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  return bind_primitive(kCheckpoint,
                        make_params(CheckpointParams{recording.program, options.prevent_cse,
                                                     options.policy.name, options.policy.names}),
                        operands);
}

Array checkpoint_name(const Array& x, const std::string& name) {
  return bind_one(kName, make_params(NameParams{name}), {&x, 1});
}

}  // namespace farcall
