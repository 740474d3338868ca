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

// The policies that a name joins.
constexpr std::string_view kOr = " or ";
std::vector<NamedPolicy> find_policies(std::string_view joined) {
  std::vector<NamedPolicy> result;
  for (size_t at; (at = joined.find(kOr)) != joined.npos; joined.remove_prefix(at + kOr.size())) {
    result.push_back(find_policy(joined.substr(0, at)));
  }
  result.push_back(find_policy(joined));
  return result;
}

// Which names a policy keeps: none, those of a list, or all but those of a list. A joined policy
// has one such part, so one list is enough for it.
bool is_by_names(std::string_view policy) { return policy.find("names") != policy.npos; }
bool keeps_other_names(std::string_view policy) { return policy != "save_only_these_names"; }

Names names_where(const Names& names, const Names& others, bool are_among) {
  Names result;
  std::ranges::copy_if(names, std::back_inserter(result), [&](const std::string& name) {
    return (std::ranges::find(others, name) != others.end()) == are_among;
  });
  return result;
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
  const std::vector<NamedPolicy> policies = find_policies(params.policy);
  const auto keeps = [&](const Equation& equation) {
    return std::ranges::any_of(
        policies, [&](const NamedPolicy& policy) { return policy.keeps(equation, params.names); });
  };
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
    if (has_effect(equation.effects) || keeps(equation)) {
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

SavePolicy save_from_both(const SavePolicy& first, const SavePolicy& second) {
  SavePolicy result = {"", {}};
  std::string by_names;
  const auto add = [&](std::string_view name) {
    if (result.name.find(name) == std::string::npos || name.empty()) {
      result.name += result.name.empty() ? std::string(name) : fmt::format("{}{}", kOr, name);
    }
  };
  for (const SavePolicy& each : {first, second}) {
    for (const NamedPolicy& policy : find_policies(each.name)) {
      if (!is_by_names(policy.name)) {
        add(policy.name);
        continue;
      }
      if (by_names.empty()) {
        by_names = policy.name;
        result.names = each.names;
        continue;
      }
      // The names that both keep, in one list of those that are kept or of those that are not.
      const bool had_others = keeps_other_names(by_names);
      const bool has_others = keeps_other_names(policy.name);
      if (had_others && has_others) {
        result.names = names_where(result.names, each.names, /*are_among=*/true);
      } else if (had_others) {
        result.names = names_where(result.names, each.names, /*are_among=*/false);
      } else if (has_others) {
        result.names = names_where(each.names, result.names, /*are_among=*/false);
      } else {
        const Names more = names_where(each.names, result.names, /*are_among=*/false);
        result.names.insert(result.names.end(), more.begin(), more.end());
      }
      // The later of the two in the order of kPolicies keeps more.
      if (&find_policy(policy.name) > &find_policy(by_names)) by_names = policy.name;
    }
  }
  if (!by_names.empty()) add(by_names);
  return result;
}

std::vector<Array> checkpoint(const FlatFunction& function, std::span<const Array> inputs,
                              const CheckpointOptions& options) {
  find_policies(options.policy.name);  // raises
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
