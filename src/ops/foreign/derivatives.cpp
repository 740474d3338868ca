// Derivatives of foreign calls, from the definitions of their targets.
#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/ops/define.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/derive.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/interpreter.h>

#include "ops/foreign/elements.h"
#include "ops/foreign/rules.h"

namespace farcall {
namespace {

using Indices = std::vector<int64_t>;

// The parameters of a call that computes tangents or cotangents. It has no side effect: only the
// call that computes the results has one.
FfiCallParams without_side_effect(FfiCallParams params) {
  params.has_side_effect = false;
  return params;
}

// ---- checks of what rules return ----

void check_count(const std::string& target, std::string_view rule, std::string_view what,
                 size_t wanted, size_t got) {
  if (wanted == got) return;
  invalid_argument(fmt::format("the {} rule of target \"{}\": expected {} {}, got {}", rule, target,
                               wanted, what, got));
}

void check_type(const std::string& target, std::string_view rule, const std::string& what,
                ShapeDtype wanted, ShapeDtype got) {
  if (wanted.strengthened() == got.strengthened()) return;
  invalid_argument(fmt::format("the {} rule of target \"{}\": {} should be {}, got {}", rule,
                               target, what, wanted.strengthened().to_string(), got.to_string()));
}

void check_results(const FfiCallParams& p, std::string_view rule, std::span<const Array> results) {
  check_count(p.target_name, rule, "results", p.result_types.size(), results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    check_type(p.target_name, rule, fmt::format("result {}", i), p.result_types[i],
               results[i].type());
  }
}

// Checks the tangents of results or the cotangents of operands that a rule returned; `types` are
// their types.
std::vector<Array> checked(const std::string& target, std::string_view rule, std::string_view what,
                           std::vector<Array> found, std::span<const ShapeDtype> types) {
  check_count(target, rule, fmt::format("{}s", what), types.size(), found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (!has_tangent(types[i])) found[i] = {};
    if (found[i].is_null()) continue;
    check_type(target, rule, fmt::format("{} {}", what, i), types[i], found[i].type());
  }
  return found;
}

JvpResults call_jvp(const TargetDefinition& definition, const FfiCallParams& p,
                    std::span<const Array> primals, std::span<const Array> tangents) {
  JvpResults results = definition.jvp({p, types_of(primals)}, primals, tangents);
  check_results(p, "jvp", results.primals);
  results.tangents =
      checked(p.target_name, "jvp", "tangent", std::move(results.tangents), p.result_types);
  return results;
}

std::vector<Array> call_backward(const TargetDefinition& definition, const FfiCallParams& p,
                                 std::span<const Array> residuals,
                                 std::span<const Array> cotangents,
                                 std::span<const ShapeDtype> operands) {
  const FfiCallParams quiet = without_side_effect(p);
  return checked(
      p.target_name, "backward", "cotangent",
      definition.backward({quiet, {operands.begin(), operands.end()}}, residuals, cotangents),
      operands);
}

// ---- from the rules for reverse mode ----

// The forward-mode derivative for a call with reverse-mode rules: by its jvp rule, or by
// transposing the backward rule. Operands: residuals, primals, nonzero tangents.
ProgramPtr forward_program(const TargetDefinition& definition, const ParamsPtr& params,
                           std::span<const ShapeDtype> residuals,
                           std::span<const ShapeDtype> primals, const std::vector<bool>& varies,
                           std::span<const ShapeDtype> outputs) {
  std::vector<ShapeDtype> types(residuals.begin(), residuals.end());
  types.insert(types.end(), primals.begin(), primals.end());
  for (size_t i = 0; i < primals.size(); ++i) {
    if (varies[i]) types.push_back(primals[i].strengthened());
  }
  const FfiCallParams p = without_side_effect(params_as<FfiCallParams>(params.get()));
  const auto by_jvp = [&](std::span<const Array> all) {
    const JvpResults results =
        call_jvp(definition, p, all.subspan(residuals.size(), primals.size()),
                 scatter_arrays(varies, all.subspan(residuals.size() + primals.size())));
    std::vector<Array> tangents;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (has_tangent(outputs[i])) {
        tangents.push_back(instantiate(results.tangents[i], outputs[i]));
      }
    }
    return tangents;
  };
  const auto by_transposing = [&](std::span<const Array> all) {
    std::vector<ShapeDtype> cotangents;
    std::vector<bool> has;
    for (const ShapeDtype& type : outputs) {
      has.push_back(has_tangent(type));
      if (has_tangent(type)) cotangents.push_back(type.strengthened());
    }
    const auto directions = scatter_arrays(varies, all.subspan(residuals.size() + primals.size()));
    std::vector<Array> tangents;  // of the operands for which the backward rule returns a cotangent
    const Recording backward = record_closure(
        [&](std::span<const Array> given) {
          std::vector<Array> reached;
          const auto made = call_backward(definition, p, all.first(residuals.size()),
                                          scatter_arrays(has, given), primals);
          for (size_t i = 0; i < made.size(); ++i) {
            if (made[i].is_null()) continue;
            reached.push_back(made[i]);
            tangents.push_back(directions[i]);
          }
          return reached;
        },
        cotangents);
    std::vector<Array> inputs = backward.captured;
    inputs.resize(backward.program->inputs.size());
    std::vector<Array> found = transpose(*backward.program, inputs, tangents);
    found.erase(found.begin(), found.begin() + static_cast<int64_t>(backward.captured.size()));
    for (size_t i = 0; i < found.size(); ++i) found[i] = instantiate(found[i], cotangents[i]);
    return found;
  };
  if (definition.jvp) return record(by_jvp, types);
  try {
    return record(by_transposing, types);
  } catch (const Error& error) {
    error.raise_with(
        fmt::format("ffi_call(\"{}\"): forward mode needs a jvp. The target's "
                    "definition has a vjp alone, and its backward half cannot be "
                    "transposed to make one. Add a jvp to the definition.\n  {}",
                    p.target_name, error.message()));
    throw;  // not reached; raise_with does not return
  }
}

// Returns a function that calls `make` at its first use and caches the program. Threads that use it
// for the first time at the same moment may each call `make`; all get the same program.
std::function<ProgramPtr()> lazily(std::function<ProgramPtr()> make) {
  struct Lazy {
    std::mutex mutex;
    ProgramPtr made;
  };
  return [lazy = std::make_shared<Lazy>(), make = std::move(make)] {
    {
      const std::lock_guard lock(lazy->mutex);
      if (lazy->made) return lazy->made;
    }
    ProgramPtr made = make();  // runs users' code, so the lock is not held
    const std::lock_guard lock(lazy->mutex);
    if (!lazy->made) lazy->made = std::move(made);
    return lazy->made;
  };
}

JvpResults jvp_from_halves(const JvpCall& call, const TargetDefinitionPtr& definition) {
  const TargetCall target{params_as<FfiCallParams>(call.params.get()), types_of(call.primals)};
  ForwardResults forward = definition->forward(target, call.primals);
  check_results(target.params, "forward", forward.outputs);
  const std::vector<ShapeDtype> outputs = types_of(forward.outputs);
  auto rules = std::make_shared<CustomCall>();
  rules->name = target.params.target_name;
  rules->backward = [definition, params = call.params, count = forward.residuals.size(),
                     operands = types_of(call.primals)](std::span<const Array> residuals,
                                                        std::span<const Array> cotangents) {
    return call_backward(*definition, params_as<FfiCallParams>(params.get()),
                         residuals.first(count), cotangents, operands);
  };
  rules->forward_mode =
      lazily([definition, params = call.params, residuals = types_of(forward.residuals),
              primals = types_of(call.primals), varies = present(call.tangents), outputs] {
        return forward_program(*definition, params, residuals, primals, varies, outputs);
      });
  // The jvp rule also needs the primals.
  std::vector<Array> residuals = std::move(forward.residuals);
  residuals.insert(residuals.end(), call.primals.begin(), call.primals.end());
  std::vector<Array> tangents = call_linear(rules, std::move(residuals), call.tangents, outputs);
  return {std::move(forward.outputs), std::move(tangents)};
}

// ---- from linearity ----

bool contains(const Indices& group, size_t i) {
  return std::ranges::find(group, static_cast<int64_t>(i)) != group.end();
}

// For each group of linear operands, calls the target on their tangents, with the other operands
// unchanged.
JvpResults jvp_from_linearity(const JvpCall& call, const TargetDefinition& definition) {
  const auto& p = params_as<FfiCallParams>(call.params.get());
  for (size_t i = 0; i < call.tangents.size(); ++i) {
    const auto has = [&](const Indices& group) { return contains(group, i); };
    if (!call.tangents[i].is_null() && std::ranges::none_of(definition.linear_in, has)) {
      invalid_argument(
          fmt::format("ffi_call(\"{}\"): cannot be differentiated with respect to operand "
                      "{}: its definition is linear in other operands only, and gives no "
                      "jvp or vjp",
                      p.target_name, i));
    }
  }
  JvpResults results{bind_primitive(call.primitive, call.params, call.primals), {}};
  results.tangents.resize(results.primals.size());
  const ParamsPtr quiet = make_params(without_side_effect(p));
  for (const Indices& group : definition.linear_in) {
    std::vector<Array> operands(call.primals.begin(), call.primals.end());
    bool varies = false;
    for (const int64_t i : group) {
      const auto at = static_cast<size_t>(i);
      if (at >= operands.size()) continue;
      varies = varies || !call.tangents[at].is_null();
      operands[at] = instantiate(call.tangents[at], operands[at].type());
    }
    if (!varies) continue;
    const auto parts = bind_primitive(call.primitive, quiet, operands);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (has_tangent(parts[i].type())) {
        results.tangents[i] = add_tangents(results.tangents[i], parts[i]);
      }
    }
  }
  return results;
}

// The transpose of a linear call without a transpose rule: computes the matrix column by column,
// and multiplies it by the cotangents. Calls the target once for each element of the operand.
Array transpose_by_columns(const TransposeCall& call, size_t operand) {
  FfiCallParams p = without_side_effect(params_as<FfiCallParams>(call.params.get()));
  if (!p.vmap_method) p.vmap_method = "sequential";
  const ParamsPtr params = make_params(std::move(p));
  const ShapeDtype type = call.types[operand].strengthened();
  const int64_t size = type.size();
  const Shape square{size, size};
  const Array identity = lax::convert_element_type(
      lax::eq(lax::iota(DType::kInt32, square, 0), lax::iota(DType::kInt32, square, 1)),
      type.dtype());
  Shape stacked(type.shape().begin(), type.shape().end());
  stacked.insert(stacked.begin(), size);
  const BatchAxis axis{size, {}};
  const Array basis[] = {lax::reshape(identity, stacked)};
  const int64_t axes[] = {0};
  const std::vector<Array> columns = batched_in_front(
      batch(
          [&](std::span<const Array> direction) {
            std::vector<Array> operands;
            for (size_t i = 0; i < call.inputs.size(); ++i) {
              operands.push_back(i == operand ? direction[0]
                                              : instantiate(call.inputs[i], call.types[i]));
            }
            return bind_primitive(call.primitive, params, operands);
          },
          basis, axes, axis),
      axis);
  Array total;
  for (size_t i = 0; i < columns.size(); ++i) {
    const Array& cotangent = call.cotangents[i];
    if (cotangent.is_null()) continue;
    Indices contracting, of_columns;
    for (size_t d = 0; d < cotangent.rank(); ++d) {
      contracting.push_back(static_cast<int64_t>(d));
      of_columns.push_back(static_cast<int64_t>(d) + 1);
    }
    total = add_tangents(total, lax::dot_general(columns[i], cotangent, of_columns, contracting));
  }
  return total.is_null() ? total : lax::reshape(total, type.shape());
}

[[noreturn]] void no_derivative(const std::string& target) {
  invalid_argument(
      fmt::format("ffi_call(\"{}\"): cannot be differentiated. Wrap the call in custom_jvp or "
                  "custom_vjp, or give the target its derivative with define",
                  target));
}

// All linear operands must be in one group of the definition.
void check_linear(const TransposeCall& call, const std::string& target,
                  const TargetDefinition* definition) {
  Indices varying;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.is_linear(i)) varying.push_back(static_cast<int64_t>(i));
  }
  const auto has_all = [&](const Indices& group) {
    return std::ranges::all_of(varying,
                               [&](int64_t i) { return contains(group, static_cast<size_t>(i)); });
  };
  if (definition && std::ranges::any_of(definition->linear_in, has_all)) return;
  const bool is_one = varying.size() == 1;
  invalid_argument(fmt::format(
      "ffi_call(\"{}\"): cannot be transposed, which reverse mode needs here: "
      "it is not known to be linear in operand{} {}{}. Say so with "
      "define(..., linear_in=...), or wrap the call in custom_vjp",
      target, is_one ? "" : "s", fmt::join(varying, " and "), is_one ? "" : " together"));
}

}  // namespace

JvpResults ffi_call_jvp(const JvpCall& call) {
  const auto& p = params_as<FfiCallParams>(call.params.get());
  const TargetDefinitionPtr definition = find_definition(p.target_name);
  if (!definition) no_derivative(p.target_name);
  if (!p.batched_operands.empty()) return jvp_by_elements(call);
  if (definition->forward) return jvp_from_halves(call, definition);
  if (definition->jvp) {
    return call_jvp(*definition, p, call.primals, call.tangents);
  }
  if (definition->linear_in.empty()) no_derivative(p.target_name);
  return jvp_from_linearity(call, *definition);
}

std::vector<Array> ffi_call_transpose(const TransposeCall& call) {
  const auto& p = params_as<FfiCallParams>(call.params.get());
  const TargetDefinitionPtr definition = find_definition(p.target_name);
  check_linear(call, p.target_name, definition.get());
  if (!p.batched_operands.empty()) return transpose_by_elements(call);
  if (definition->transpose) {
    const FfiCallParams quiet = without_side_effect(p);
    return checked(p.target_name, "transpose", "cotangent",
                   definition->transpose({quiet, {call.types.begin(), call.types.end()}},
                                         call.inputs, call.cotangents),
                   call.types);
  }
  std::vector<Array> cotangents(call.inputs.size());
  for (size_t i = 0; i < cotangents.size(); ++i) {
    if (call.is_linear(i)) cotangents[i] = transpose_by_columns(call, i);
  }
  return cotangents;
}

}  // namespace farcall
