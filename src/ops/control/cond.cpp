// cond: one of several programs, chosen by number.
#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/primitives/control_flow.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/call.h>
#include <farcall/trace/derive.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/interpreter.h>

#include "ops/control/programs.h"
#include "ops/internal/register.h"

namespace farcall {
namespace {

using namespace control;

extern const Primitive kCond;

std::vector<ShapeDtype> cond_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  const auto& branches = params_as<CondParams>(params).branches;
  if (branches.empty()) invalid_argument("expected at least one branch");
  if (inputs.empty() || inputs[0].strengthened() != ShapeDtype(DType::kInt32, {})) {
    invalid_argument(
        fmt::format("the first operand is the branch's number and must be i32[], got {}",
                    inputs.empty() ? "no operand" : inputs[0].to_string()));
  }
  std::vector<ShapeDtype> results = branches[0]->output_types();
  for (size_t i = 0; i < branches.size(); ++i) {
    check_same_types(inputs.subspan(1), branches[i]->input_types(), "the operands",
                     fmt::format("what branch {} takes", i));
    const auto found = branches[i]->output_types();
    check_same_types(found, branches[0]->output_types(), fmt::format("the results of branch {}", i),
                     "those of branch 0");
    for (size_t j = 0; j < found.size(); ++j) {
      if (!found[j].weak_type()) results[j] = found[j];
    }
  }
  return results;
}

Effects cond_effects(const Params* params) {
  Effects effects = Effects::kNone;
  for (const ProgramPtr& branch : params_as<CondParams>(params).branches) {
    effects |= branch->effects();
  }
  return effects;
}

// The maximum over the branches, of flops and of bytes.
Cost cond_cost(const Params* params) {
  Cost cost;
  for (const ProgramPtr& branch : params_as<CondParams>(params).branches) {
    cost.flops = std::max(cost.flops, branch->cost().flops);
    cost.bytes = std::max(cost.bytes, branch->cost().bytes);
  }
  return cost;
}

std::vector<std::string> cond_axis_names(const Params* params) {
  std::vector<std::string> names;
  for (const ProgramPtr& branch : params_as<CondParams>(params).branches) {
    append<std::string>(names, branch->axis_names);
  }
  return names;
}

// Derives all branches such that all have the same flags: a flag is set if any branch needs it.
// `derive(branch, force)` returns a struct whose member `flags` has a flag for each output.
template <class Derive, class Flags>
auto derive_alike(const std::vector<ProgramPtr>& branches, const Derive& derive, Flags flags) {
  std::vector<decltype(derive(branches[0], {}))> result;
  for (const ProgramPtr& branch : branches) result.push_back(derive(branch, {}));
  std::vector<bool> any = result[0].*flags;
  bool are_alike = true;
  for (const auto& derived : result) {
    are_alike = are_alike && derived.*flags == any;
    for (size_t i = 0; i < any.size(); ++i) any[i] = any[i] || (derived.*flags)[i];
  }
  for (size_t i = 0; !are_alike && i < branches.size(); ++i) result[i] = derive(branches[i], any);
  return result;
}

template <class Derived>
CondParams programs_of(const std::vector<Derived>& branches) {
  CondParams params;
  for (const Derived& branch : branches) params.branches.push_back(branch.program);
  return params;
}

// ---- forward mode ----

JvpResults cond_jvp(const JvpCall& call) {
  const auto& branches = params_as<CondParams>(call.params.get()).branches;
  const std::vector<bool> varies = present(call.tangents.subspan(1));
  const auto derived = derive_alike(
      branches,
      [&](const ProgramPtr& branch, const std::vector<bool>& force) {
        return jvp_program(branch, varies, force);
      },
      &ProgramJvp::varies);
  const auto found = bind_cond(programs_of(derived), with_tangents(call));
  const size_t num_outputs = branches[0]->outputs.size();
  return {{found.begin(), found.begin() + static_cast<int64_t>(num_outputs)},
          scatter_arrays(derived[0].varies, std::span(found).subspan(num_outputs))};
}

// ---- batching ----

// Runs all branches, and selects for each element of the batch the results of its branch.
BatchResults run_all_branches(const BatchCall& call, std::span<const int64_t> axes) {
  const auto& branches = params_as<CondParams>(call.params.get()).branches;
  if (has_effect(cond_effects(call.params.get()))) return batch_with_effects(call, "a branch");
  const std::vector<bool> all(branches[0]->outputs.size(), true);
  std::vector<std::vector<Array>> found;
  for (const ProgramPtr& branch : branches) {
    const ProgramBatch derived = batch_program(branch, call.axis, {axes.begin(), axes.end()}, all);
    found.push_back(call_program(derived.program, call.inputs.subspan(1)));
  }
  const auto last = static_cast<int32_t>(branches.size()) - 1;
  const Array index =
      lax::clamp(Array::scalar<int32_t>(0),
                 move_axis(call.inputs[0], call.axes[0], 0, call.axis.size), Array::scalar(last));
  BatchResults results;
  for (size_t i = 0; i < all.size(); ++i) {
    std::vector<Array> cases;
    for (const auto& outputs : found) cases.push_back(outputs[i]);
    const int64_t leading[] = {0};
    const Array which =
        cases[0].rank() == 1 ? index : lax::broadcast_in_dim(index, cases[0].shape(), leading);
    results.outputs.push_back(lax::select_n(which, cases));
    results.axes.push_back(0);
  }
  return results;
}

BatchResults cond_batch(const BatchCall& call) {
  const std::vector<int64_t> axes(call.axes.begin() + 1, call.axes.end());
  if (call.is_batched(0)) return run_all_branches(call, axes);
  const auto derived = derive_alike(
      params_as<CondParams>(call.params.get()).branches,
      [&](const ProgramPtr& branch, const std::vector<bool>& force) {
        return batch_program(branch, call.axis, axes, force);
      },
      &ProgramBatch::is_batched);
  BatchResults results;
  results.outputs = bind_cond(programs_of(derived), call.inputs);
  for (const bool is_batched : derived[0].is_batched) {
    results.axes.push_back(is_batched ? 0 : kNotBatched);
  }
  return results;
}

// ---- partial evaluation ----

// Places for residuals that all branches share: each branch puts its residuals into places of their
// type.
struct Places {
  std::vector<ShapeDtype> types;
  std::vector<std::vector<int64_t>> of_branch;  // by residual
};

Places share_places(const std::vector<ProgramPartialEval>& branches) {
  Places places;
  for (const ProgramPartialEval& branch : branches) {
    const auto outputs = branch.known->output_types();
    std::vector<bool> is_taken(places.types.size(), false);
    auto& own = places.of_branch.emplace_back();
    for (size_t i = outputs.size() - branch.num_residuals; i < outputs.size(); ++i) {
      const ShapeDtype type = outputs[i].strengthened();
      size_t place = 0;
      while (place < places.types.size() && (is_taken[place] || places.types[place] != type)) {
        ++place;
      }
      if (place == places.types.size()) {
        places.types.push_back(type);
        is_taken.push_back(false);
      }
      is_taken[place] = true;
      own.push_back(static_cast<int64_t>(place));
    }
  }
  return places;
}

std::vector<int64_t> key_of(const Places& places, size_t branch) {
  std::vector<int64_t> key = places.of_branch[branch];
  for (const ShapeDtype& type : places.types) key.push_back(type.id());
  return key;
}

// The known part of a branch; returns zeros for places that it does not use.
ProgramPtr known_branch(const ProgramPartialEval& split, const Places& places, size_t branch) {
  return split.known->derived.find_or_make<ProgramPtr>("branch", key_of(places, branch), [&] {
    return record(
        [&](std::span<const Array> inputs) {
          std::vector<Array> outputs = evaluate(*split.known, inputs);
          const size_t num_known = outputs.size() - split.num_residuals;
          const std::vector<Array> residuals(outputs.begin() + static_cast<int64_t>(num_known),
                                             outputs.end());
          outputs.resize(num_known + places.types.size());
          std::fill(outputs.begin() + static_cast<int64_t>(num_known), outputs.end(), Array());
          for (size_t i = 0; i < residuals.size(); ++i) {
            outputs[num_known + static_cast<size_t>(places.of_branch[branch][i])] = residuals[i];
          }
          for (size_t i = 0; i < places.types.size(); ++i) {
            outputs[num_known + i] = instantiate(outputs[num_known + i], places.types[i]);
          }
          return outputs;
        },
        split.known->input_types(), split.known->name);
  });
}

// The unknown part of a branch; takes all places.
ProgramPtr unknown_branch(const ProgramPartialEval& split, const Places& places, size_t branch) {
  const auto& own = places.of_branch[branch];
  Order inputs(places.types.size(), kUnused), outputs;
  for (size_t i = 0; i < own.size(); ++i) {
    inputs[static_cast<size_t>(own[i])] = static_cast<int64_t>(i);
  }
  std::vector<ShapeDtype> unused;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kUnused) unused.push_back(places.types[i]);
  }
  append_range(inputs, own.size(), split.unknown->inputs.size() - own.size());
  append_range(outputs, 0, split.unknown->outputs.size());
  return rearrange(split.unknown, inputs, outputs, unused);
}

std::vector<Array> cond_partial(const PartialCall& call) {
  const auto& branches = params_as<CondParams>(call.params.get()).branches;
  if (call.is_unknown[0]) return call.recorder.process(kCond, call.params, call.inputs);
  const auto is_unknown = flags_of(call.is_unknown, 1, call.inputs.size() - 1);
  const auto splits = derive_alike(
      branches,
      [&](const ProgramPtr& branch, const std::vector<bool>& force) {
        return partial_eval_program(branch, is_unknown, force);
      },
      &ProgramPartialEval::is_unknown);
  const Places places = share_places(splits);
  CondParams known, unknown;
  for (size_t i = 0; i < splits.size(); ++i) {
    known.branches.push_back(known_branch(splits[i], places, i));
    unknown.branches.push_back(unknown_branch(splits[i], places, i));
  }
  const auto found =
      bind_cond(std::move(known), select(call.inputs, call.is_unknown, /*wanted=*/false));
  const size_t num_known = found.size() - places.types.size();
  std::vector<Array> operands{call.inputs[0]};
  append<Array>(operands, std::span(found).subspan(num_known));
  append<Array>(operands, select(call.inputs, call.is_unknown));
  const auto rest = call.recorder.process(kCond, make_params(std::move(unknown)), operands);
  return merge<Array>(splits[0].is_unknown, rest, std::span(found).first(num_known));
}

// ---- transposition ----

std::vector<Array> cond_transpose(const TransposeCall& call) {
  const auto& branches = params_as<CondParams>(call.params.get()).branches;
  if (call.is_linear(0)) {
    invalid_argument("cond: it is not linear in the branch's number");
  }
  const std::vector<bool> is_linear = !present(call.inputs.subspan(1));
  const std::vector<bool> has_cotangent = present(call.cotangents);
  std::vector<ProgramTranspose> derived;
  for (const ProgramPtr& branch : branches) {
    derived.push_back(transpose_program(branch, is_linear, has_cotangent));
  }
  // The operands with a cotangent in some branch have one in all. Others keep none: a zero array
  // would become NaN where the operand's own derivative is infinite.
  std::vector<bool> has_some(is_linear.size(), false);
  for (const ProgramTranspose& branch : derived) {
    for (size_t i = 0; i < has_some.size(); ++i) {
      has_some[i] = has_some[i] || branch.has_cotangent[i];
    }
  }
  for (size_t i = 0; i < branches.size(); ++i) {
    if (derived[i].has_cotangent == has_some) continue;
    derived[i] = transpose_program(branches[i], is_linear, has_cotangent, has_some);
  }
  std::vector<Array> operands{call.inputs[0]};
  append<Array>(operands, select(call.inputs.subspan(1), is_linear, /*wanted=*/false));
  append<Array>(operands, select(call.cotangents, has_cotangent));
  const auto found = bind_cond(programs_of(derived), operands);
  return scatter_arrays(std::vector<bool>{false} + derived[0].has_cotangent, found);
}

const TransformRules kCondRules = {.jvp = cond_jvp,
                                   .transpose = cond_transpose,
                                   .batch = cond_batch,
                                   .partial_eval = cond_partial};
const Primitive kCond = {.name = "cond",
                         .type_rule = cond_rule,
                         .parse = parse_params<CondParams>,
                         .effects = cond_effects,
                         .rules = &kCondRules,
                         .cost = cond_cost,
                         .axis_names = cond_axis_names,
                         .kind = PrimitiveKind::kCond};
FARCALL_REGISTER_PRIMITIVE(kCond);

}  // namespace

std::vector<Array> control::bind_cond(CondParams params, std::span<const Array> operands) {
  return bind_primitive(kCond, make_params(std::move(params)), operands);
}

}  // namespace farcall
