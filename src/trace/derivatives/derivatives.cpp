#include <farcall/trace/derivatives.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/trace/rules.h>

#include "trace/derivatives/derivative_checks.h"

namespace farcall::detail {
namespace {

constexpr std::string_view kForHolomorphic =
    "For the derivative of a holomorphic function set the option holomorphic; for other functions "
    "of complex numbers use jvp or vjp";

}  // namespace

void check_inputs(const LeafCall& call, const std::vector<bool>& varies, const InputRules& rules) {
  for (size_t i = 0; i < varies.size(); ++i) {
    if (!varies[i]) continue;
    const ShapeDtype type = call.leaves()[i].type();
    const std::string what = fmt::format("{}: {} is {}", call.where(), call.argument_name(i),
                                         type.strengthened().to_string());
    if (rules.holomorphic) {
      if (is_complex(type.dtype())) continue;
      throw TypeError(fmt::format("{}; with the option holomorphic it must be complex", what));
    }
    if (is_floating(type.dtype()) || (rules.allow_complex && is_complex(type.dtype()))) continue;
    if (is_complex(type.dtype())) {
      throw TypeError(fmt::format("{}, but must be real. {}", what, kForHolomorphic));
    }
    if (rules.allow_int) continue;
    throw TypeError(
        fmt::format("{}; derivatives are with respect to floats{}. Make it a float, choose other "
                    "argnums, or set the option allow_int where the function has it",
                    what, rules.allow_complex ? " or complex numbers" : ""));
  }
}

void check_outputs(const LeafCall& call, std::span<const Array> outputs, bool holomorphic) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const DType dtype = outputs[i].dtype();
    const std::string what =
        fmt::format("{}: the function's {} is {}", call.where(), call.result_name(i),
                    outputs[i].type().strengthened().to_string());
    if (holomorphic) {
      if (is_complex(dtype)) continue;
      throw TypeError(fmt::format("{}; with the option holomorphic it must be complex", what));
    }
    if (is_floating(dtype)) continue;
    if (is_complex(dtype)) {
      throw TypeError(fmt::format("{}, but must be real. {}", what, kForHolomorphic));
    }
    throw TypeError(fmt::format("{}, but must be a float; for other results use vjp", what));
  }
}

std::vector<Array> leaves_of(const TreeCall& call, std::span<const int> positions,
                             std::span<const Array> all) {
  std::vector<Array> chosen;
  for (const int position : positions) {
    const auto argument = static_cast<size_t>(position);
    const auto part =
        all.subspan(call.first_leaf(argument), call.arguments().children()[argument].num_leaves());
    chosen.insert(chosen.end(), part.begin(), part.end());
  }
  return chosen;
}

std::vector<Array> instantiated(std::vector<Array> tangents, std::span<const ShapeDtype> types,
                                const AxisSets& axes) {
  for (size_t i = 0; i < tangents.size(); ++i) {
    if (has_tangent(types[i])) {
      tangents[i] = weak_like(instantiate(tangents[i], types[i]), types[i]);
    }
  }
  return vary_like(std::move(tangents), axes);
}

std::vector<Array> tangents_of(const std::string& what, const TreeDef& wanted,
                               std::span<const ShapeDtype> types, const TreeDef& given,
                               std::vector<Array> tangents) {
  if (!(given == wanted)) {
    throw TypeError(fmt::format("{} should have structure {}, got {}", what, wanted.to_string(),
                                given.to_string()));
  }
  for (size_t i = 0; i < tangents.size(); ++i) {
    if (tangents[i].is_null()) continue;
    const std::string which = what + leaf_path(wanted, i);
    if (!has_tangent(types[i])) {
      throw TypeError(fmt::format(
          "{} must be a null Array, because the value is {}, which has no tangent; got {}", which,
          types[i].strengthened().to_string(), tangents[i].type().to_string()));
    }
    tangents[i] = checked_tangent(tangents[i], types[i], which);
  }
  return tangents;
}

// ---- grad ----

Gradient call_grad(LeafCall& call, const std::vector<bool>& varies, const GradOptions& options) {
  check_inputs(
      call, varies,
      {.holomorphic = options.holomorphic, .allow_int = options.allow_int, .allow_complex = true});
  const Linearized results = linearize(call.as_function(), call.leaves(), varies);
  const Array& value = results.outputs[0];
  if (value.rank() != 0) {
    throw TypeError(fmt::format(
        "{}: the function must return a scalar; its result has shape {} (it is {}). For an array "
        "use jacrev, or sum it up",
        call.where(), shape_to_string(value.shape()), value.type().to_string()));
  }
  check_outputs(call, results.outputs, options.holomorphic);
  const Array one[] = {basic_operations().convert(Array(1.0), value.dtype(), /*weak_type=*/false)};
  return {value, instantiated(results.derivative->transpose(one), types_of(call.leaves()),
                              varying_axes(call.leaves()))};
}

// ---- jvp, vjp, linearize ----

JvpResults call_jvp(TreeCall& call, const TreeDef& tree, std::vector<Array> tangents) {
  const std::vector<Array>& primals = call.leaves();
  JvpResults results = jvp(call.as_function(), primals,
                           tangents_of(call.where() + ": tangents", call.arguments(),
                                       types_of(primals), tree, std::move(tangents)));
  results.tangents = instantiated(std::move(results.tangents), types_of(results.primals),
                                  varying_axes(results.primals));
  return results;
}

std::vector<Array> LinearCall::forward(const TreeDef& tree, std::vector<Array> tangents) const {
  tangents =
      tangents_of(where + ": tangents", arguments, map->input_types(), tree, std::move(tangents));
  return instantiated((*map)(tangents), map->output_types(), result_axes);
}

std::vector<Array> LinearCall::backward(const TreeDef& tree, std::vector<Array> cotangents) const {
  cotangents =
      tangents_of(where + ": cotangent", result, map->output_types(), tree, std::move(cotangents));
  return instantiated(map->transpose(cotangents), map->input_types(), argument_axes);
}

std::pair<std::vector<Array>, LinearCall> call_linearize(TreeCall& call) {
  const std::vector<bool> varies(call.leaves().size(), true);
  Linearized results = linearize(call.as_function(), call.leaves(), varies);
  LinearCall linear{
      call.where(),       std::move(results.derivative), call.arguments(),
      call.result_tree(), varying_axes(call.leaves()),   varying_axes(results.outputs)};
  return {std::move(results.outputs), std::move(linear)};
}

LinearMap linear_map_of(LeafCall& call, const std::vector<ShapeDtype>& types,
                        const AxisSets& axes) {
  Recording recording = record_closure(call.as_function(), types, axes);
  const auto check = [&](ShapeDtype type, const std::string& what) {
    if (has_tangent(type)) return;
    throw TypeError(
        fmt::format("{}: {} is {}; only functions from floats or complex numbers to floats or "
                    "complex numbers can be transposed",
                    call.where(), what, type.to_string()));
  };
  const std::vector<ShapeDtype> outputs = recording.program->output_types();
  for (size_t i = 0; i < types.size(); ++i) check(types[i], call.argument_name(i));
  for (size_t i = 0; i < outputs.size(); ++i) check(outputs[i], call.result_name(i));
  return LinearMap(std::move(recording), std::vector<bool>(types.size(), true),
                   std::vector<bool>(outputs.size(), true), types, outputs);
}

LinearCall call_linear_transpose(TreeCall& call) {
  AxisSets axes = varying_axes(call.leaves());
  auto map = std::make_shared<const LinearMap>(linear_map_of(call, types_of(call.leaves()), axes));
  return {call.where(), std::move(map), call.arguments(), call.result_tree(), std::move(axes), {}};
}

}  // namespace farcall::detail
