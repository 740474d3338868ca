// Lowers programs, equation by equation.
#include "stablehlo/internal/lower.h"

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/quote.h>
#include <farcall/passes/passes.h>
#include <farcall/primitives/callback.h>
#include <farcall/primitives/shard_map.h>
#include <farcall/program/device.h>
#include <farcall/program/located.h>
#include <farcall/program/walk.h>
#include <farcall/stablehlo/stablehlo.h>

#include "stablehlo/joint_collectives.h"
#include "stablehlo/rules.h"

namespace farcall::stablehlo {
namespace {

// The dtype in which relays, as all handlers, receive elements: those below eight bits as bytes.
DType dtype_in_bytes(DType dtype) {
  const DTypeInfo& info = dtype_info(dtype);
  if (info.bits >= 8 || dtype == DType::kToken) return dtype;
  return info.kind == DTypeKind::kSigned ? DType::kInt8 : DType::kUInt8;
}

Value to_bytes(Emitter& emitter, Value value) {
  const DType dtype = value.type.dtype();
  if (dtype_info(dtype).kind == DTypeKind::kFloat && dtype_in_bytes(dtype) != dtype) {
    value = emitter.op("stablehlo.bitcast_convert", {value}, value.type.with_dtype(DType::kUInt4));
  }
  return emitter.convert(value, dtype_in_bytes(dtype));
}

Value from_bytes(Emitter& emitter, const Value& value, ShapeDtype type) {
  if (value.type.dtype() == type.dtype()) return value;
  if (dtype_info(type.dtype()).kind != DTypeKind::kFloat) {
    return emitter.convert(value, type.dtype());
  }
  return emitter.op("stablehlo.bitcast_convert", {emitter.convert(value, DType::kUInt4)}, type);
}

[[noreturn]] void raise_no_lowering(const Equation& equation) {
  if (!equation.primitive->never_run.empty()) {
    throw TypeError(std::string(equation.primitive->never_run));
  }
  throw Error(
      ErrorCode::kUnimplemented,
      fmt::format(
          "{}: StableHLO cannot express this operation with these types and parameters; use the "
          "native engine",
          equation.primitive->name));
}

bool is_empty(ShapeDtype type) { return type.is_token() || type.size() == 0; }

// Whether XLA must not remove a call that nothing uses. It uses no empty result: it knows them.
bool must_run(std::span<const ShapeDtype> results, bool is_ordered) {
  return is_ordered || std::ranges::any_of(results, is_empty);
}

}  // namespace

bool has_zero(DType dtype) { return dtype != DType::kFloat8E8M0FNU; }

std::string_view of_dtype(std::string_view operation, DType dtype) {
  if (dtype != DType::kBool) return operation;
  if (operation == "stablehlo.add") return "stablehlo.or";
  return operation == "stablehlo.multiply" ? "stablehlo.and" : operation;
}

bool is_narrow(DType dtype) { return is_integer(dtype) && dtype_info(dtype).bits < 4; }

Rule on_bytes(Rule rule) {
  return [rule = std::move(rule)](Emitter& e, const Call& call) -> Values {
    const auto in_bytes = [](DType dtype) {
      return is_narrow(dtype) ? dtype_in_bytes(dtype) : dtype;
    };
    Values inputs;
    for (const Value& x : call.inputs) inputs.push_back(e.convert(x, in_bytes(x.type.dtype())));
    std::vector<ShapeDtype> results;
    for (const ShapeDtype& type : call.results) {
      results.push_back(type.with_dtype(in_bytes(type.dtype())));
    }
    Values values = rule.emit(e, {call.program, call.equation, inputs, results});
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = e.convert(values[i], call.results[i].dtype());
    }
    return values;
  };
}

bool is_ordered(const Program& program) { return has_effect(program.effects()); }

const Rules& all_rules() {
  static const Rules rules = [] {
    Rules all;
    add_elementwise(all);
    add_structural(all);
    add_reductions(all);
    add_windows(all);
    add_indexing(all);
    add_products(all);
    add_sort(all);
    add_control_flow(all);
    add_collectives(all);
    add_meshes(all);
    for (const auto& [primitive, rule] : all) primitive_named(primitive);
    return all;
  }();
  return rules;
}

Values Emitter::call_relay(int64_t id, std::span<const Value> operands,
                           std::span<const ShapeDtype> results, bool is_ordered) {
  Values all = {run()};
  all.insert(all.end(), operands.begin(), operands.end());
  std::vector<ShapeDtype> types(results.begin(), results.end());
  if (is_ordered) types.push_back(all[0].type);
  Values values =
      op("stablehlo.custom_call", all, types,
         fmt::format("call_target_name = \"{}\", api_version = 4 : i32, "
                     "has_side_effect = {}, backend_config = {{id = {} : i64}}, {}",
                     kRelayTarget, must_run(results, is_ordered), id, layouts_text(all, types)));
  if (is_ordered) {
    set_run(values.back());
    values.pop_back();
  }
  return values;
}

Values Emitter::relay(const Call& call, int64_t id) {
  count_relay();
  Values operands;
  for (const Value& input : call.inputs) operands.push_back(to_bytes(*this, input));
  std::vector<ShapeDtype> results;
  for (const ShapeDtype& type : call.results) {
    results.push_back(type.with_dtype(dtype_in_bytes(type.dtype())));
  }
  Values values = call_relay(id, operands, results, has_effect(call.equation.effects));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = from_bytes(*this, values[i], call.results[i]);
  }
  return values;
}

Values Emitter::callback(const Call& call, const DirectCall& direct) {
  const bool is_ordered = has_effect(call.equation.effects);
  Values operands(call.inputs.begin(), call.inputs.end());
  std::vector<ShapeDtype> types = call.results;
  const auto& p = params_as<CallbackParams>(call.equation.params.get());
  std::vector<std::pair<int64_t, int64_t>> aliases = p.input_output_aliases;
  const std::string config = direct.id ? fmt::format("id = {} : i64", *direct.id)
                                       : fmt::format("function = {}", quoted(p.callback->name));
  if (is_ordered) {
    aliases.emplace_back(operands.size(), types.size());
    operands.push_back(run());
    types.push_back(operands.back().type);
  }
  Values values =
      op("stablehlo.custom_call", operands, types,
         fmt::format("call_target_name = {}, api_version = 4 : i32, "
                     "has_side_effect = {}, backend_config = {{{}}}, {}, "
                     "output_operand_aliases = {}",
                     quoted(direct.target), must_run(call.results, is_ordered), config,
                     layouts_text(operands, types), aliases_text(aliases, types.size())));
  if (is_ordered) {
    set_run(values.back());
    values.pop_back();
  }
  return values;
}

Values Emitter::equation(const Program& program, const Equation& equation,
                         std::span<const Value> inputs) {
  Call call{program, equation, inputs, {}};
  for (const uint32_t output : equation.outputs) {
    call.results.push_back(program.variable_types[output]);
  }
  const auto* map = try_params<ShardMapParams>(equation.params.get());
  if (map && map->devices.empty() && !free_axes().empty() && has_axes(free_axes(), map->mesh)) {
    const ProgramPtr body = prepared(map->jaxpr, options_.platform);
    return on_each_device(inputs, map->in_specs, call.results, map->out_specs,
                          [&](const Values& shards) { return this->program(*body, shards); });
  }
  if (options_.direct) {
    if (const std::optional<DirectCall> direct = options_.direct(program, equation)) {
      if (!direct->id) return custom_call(*this, call);
      return on_all_devices(inputs, call.results, [&](const Values& operands) {
        return callback({program, equation, operands, call.results}, *direct);
      });
    }
  }
  const auto rule = all_rules().find(equation.primitive->name);
  const bool relays_inexact = options_.relay && options_.relays_inexact;
  if (rule != all_rules().end() && !(relays_inexact && rule->second.is_inexact)) {
    Values values = rule->second.emit(*this, call);
    if (!values.empty() || call.results.empty()) return values;
  }
  if (map && !map->devices.empty()) {
    throw Error(ErrorCode::kUnimplemented,
                "shard_map over several processes needs the native engine");
  }
  const bool is_never_run = !equation.primitive->never_run.empty();
  // A relay can run an equation without nested programs, or a shard_map: the native engine has the
  // threads and collectives for that.
  const bool is_whole = nested_programs(equation).empty() || map;
  if (options_.relay && !is_never_run && is_whole) {
    const int64_t id = options_.relay(program, equation, relay_place());
    return on_all_devices(inputs, call.results, [&](const Values& operands) {
      return relay({program, equation, operands, call.results}, id);
    });
  }
  if (equation.primitive->kind == PrimitiveKind::kForeignCall) return custom_call(*this, call);
  if (equation.primitive->is_callback()) {
    const DirectCall named{fmt::format("farcall.{}", equation.primitive->name)};
    return on_all_devices(inputs, call.results, [&](const Values& operands) {
      return callback({program, equation, operands, call.results}, named);
    });
  }
  raise_no_lowering(equation);
}

Values Emitter::program(const Program& program, std::span<const Value> inputs) {
  Values values(program.variable_types.size());
  const auto read = [&](Atom atom) {
    if (atom.is_variable()) return values[atom.index];
    const Literal& literal = program.literals[atom.index];
    return splat(literal.type, literal.bytes.data());
  };
  for (size_t i = 0; i < inputs.size(); ++i) values[program.inputs[i]] = inputs[i];
  for (const Constant& known : program.constants) {
    const ShapeDtype type = program.variable_types[known.variable];
    values[known.variable] = type.nbytes() > options_.max_inline_bytes
                                 ? hidden_constant(type, known.storage)
                                 : constant(type, to_host(known.storage).data());
  }
  for (const auto& step : steps_of(program, /*joins=*/is_on_each_device())) {
    if (step.size() > 1) {
      Values operands;
      for (const Equation* next : step) operands.push_back(read(next->inputs[0]));
      const Values results =
          with_location(*step[0], [&] { return joint_collectives(*this, step, operands); });
      for (size_t i = 0; i < results.size(); ++i) values[step[i]->outputs[0]] = results[i];
      if (!results.empty()) continue;
    }
    for (const Equation* next : step) {
      Values operands;
      for (const Atom input : next->inputs) operands.push_back(read(input));
      const Values results =
          with_location(*next, [&] { return equation(program, *next, operands); });
      for (size_t i = 0; i < results.size(); ++i) values[next->outputs[i]] = results[i];
    }
  }
  Values outputs;
  for (const Atom output : program.outputs) outputs.push_back(read(output));
  return outputs;
}

ProgramPtr prepared(ProgramPtr program, std::string_view platform) {
  check_expansion(*program, "lower");
  program = inline_calls(std::move(program));
  program = choose_platform(std::move(program), platform);
  return remove_dead_code(std::move(program));
}

Module lower(const Program& program, const LowerOptions& options) {
  Emitter emitter(options);
  Values inputs;
  for (const ShapeDtype& type : program.input_types()) {
    inputs.push_back({fmt::format("%arg{}", inputs.size()), type});
  }
  const Values outputs = emitter.program(program, inputs);
  return emitter.finish(program, inputs, outputs);
}

}  // namespace farcall::stablehlo

namespace farcall {

std::string to_stablehlo(const ProgramPtr& program, std::string_view platform,
                         const MeshLayout* layout) {
  stablehlo::LowerOptions options;
  options.layout = layout;
  options.platform = platform;
  return stablehlo::lower(*stablehlo::prepared(program, platform), options).text;
}

}  // namespace farcall
