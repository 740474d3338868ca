// custom_jvp, custom_vjp and custom_vmap: how each transformation treats them.
#include "trace/custom/custom.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/core/sizes.h>
#include <farcall/primitives/call.h>
#include <farcall/program/verify.h>
#include <farcall/program/walk.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/derive.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/varying.h>

namespace farcall {

Value to_value(const CustomCallPtr& call) { return call->name; }
void from_value(const Value& value, CustomCallPtr& out) {
  auto call = std::make_shared<CustomCall>();
  from_value(value, call->name);
  out = std::move(call);
}

namespace {

// custom_lin, the tangents of a custom_vjp: a linear map that is defined by its transpose.
// Operands: the residuals, then the tangents of the inputs that vary.
struct CustomLinParams {
  CustomCallPtr rules;
  int64_t num_residuals = 0;
  std::vector<int64_t> varies;           // by input of the function: 0 or 1
  std::vector<ShapeDtype> output_types;  // of the function
  static constexpr auto fields() {
    return std::tuple(field("bwd", &CustomLinParams::rules),
                      field("num_residuals", &CustomLinParams::num_residuals),
                      field("varies", &CustomLinParams::varies),
                      field("output_types", &CustomLinParams::output_types));
  }
};

std::vector<ShapeDtype> call_types(std::span<const ShapeDtype> inputs, const Params* params) {
  const auto& p = params_as<CustomCallParams>(params);
  check_operands(*p.call_jaxpr, inputs);
  check_num_consts(p.num_consts, inputs.size());
  return p.call_jaxpr->output_types();
}
Effects call_effects(const Params* params) {
  return params_as<CustomCallParams>(params).call_jaxpr->effects();
}
std::vector<std::string> call_axis_names(const Params* params) {
  return params_as<CustomCallParams>(params).call_jaxpr->axis_names;
}
ProgramPtr call_body(const Params* params) {
  return params_as<CustomCallParams>(params).call_jaxpr;
}

std::vector<Array> rebind(const Params* params, std::span<const Array> inputs) {
  const auto& p = params_as<CustomCallParams>(params);
  check_expansion(*p.call_jaxpr, p.rules->name);
  auto call = std::make_shared<CustomCall>(*p.rules);
  call->function = [program = p.call_jaxpr](std::span<const Array> all) {
    return evaluate(*program, all);
  };
  call->num_captured = static_cast<size_t>(p.num_consts);
  return call_custom(call, inputs);
}

[[noreturn]] void rules_are_lost(const std::string& name) {
  throw Error(ErrorCode::kFailedPrecondition,
              fmt::format("{}: its custom rules are code, which the text of a program does not "
                          "hold; differentiate or batch the function before it is saved",
                          name));
}

enum class Kind : uint8_t { kJvp, kVjp, kVmap };

// A call that is parsed from text has lost its rules: it runs, but using a rule raises an error.
template <Kind kind>
ParamsPtr parse_call(std::span<const NamedValue> fields) {
  auto p = params_as<CustomCallParams>(parse_params<CustomCallParams>(fields).get());
  auto call = std::make_shared<CustomCall>(*p.rules);
  const std::string name = call->name;
  if constexpr (kind == Kind::kJvp) {
    call->jvp = [name](auto, auto) -> JvpResults { rules_are_lost(name); };
  } else if constexpr (kind == Kind::kVjp) {
    call->forward = [name](auto, const auto&) -> ForwardResults { rules_are_lost(name); };
    call->backward = [name](auto, auto) -> std::vector<Array> { rules_are_lost(name); };
  } else {
    call->batch = [name](auto, auto, const auto&) -> BatchResults { rules_are_lost(name); };
  }
  p.rules = std::move(call);
  return make_params(std::move(p));
}

const TransformRules kCallRules = {.rebind = rebind};

template <Kind kind>
constexpr Primitive custom_primitive(std::string_view name) {
  return {.name = name,
          .type_rule = call_types,
          .parse = parse_call<kind>,
          .effects = call_effects,
          .rules = &kCallRules,
          .body = call_body,
          .axis_names = call_axis_names};
}

const Primitive kCustomJvpCall = custom_primitive<Kind::kJvp>("custom_jvp_call");
const Primitive kCustomVjpCall = custom_primitive<Kind::kVjp>("custom_vjp_call");
const Primitive kCustomVmapCall = custom_primitive<Kind::kVmap>("custom_vmap_call");

const Primitive& primitive_of(const CustomCall& call) {
  return call.jvp ? kCustomJvpCall : call.forward ? kCustomVjpCall : kCustomVmapCall;
}

// ---- custom_lin ----

std::vector<ShapeDtype> lin_types(std::span<const ShapeDtype> inputs, const Params* params) {
  const auto& p = params_as<CustomLinParams>(params);
  if (std::ranges::any_of(p.varies, [](int64_t flag) { return flag != 0 && flag != 1; })) {
    invalid_argument(fmt::format("varies must be 0 or 1 for each input of the function, got {}",
                                 shape_to_string(p.varies)));
  }
  const auto num_tangents = std::ranges::count(p.varies, 1);
  if (!parts_fit({p.num_residuals, num_tangents}, inputs.size()) ||
      p.num_residuals + num_tangents != std::ssize(inputs)) {
    invalid_argument(
        fmt::format("num_residuals {} and the {} inputs that vary do not make up the {} "
                    "operands",
                    p.num_residuals, num_tangents, inputs.size()));
  }
  std::vector<ShapeDtype> types;
  for (const ShapeDtype& type : p.output_types) {
    if (has_tangent(type)) types.push_back(type.strengthened());
  }
  return types;
}

ParamsPtr parse_lin(std::span<const NamedValue> fields) {
  auto p = params_as<CustomLinParams>(parse_params<CustomLinParams>(fields).get());
  auto rules = std::make_shared<CustomCall>(*p.rules);
  rules->backward = [name = rules->name](auto, auto) -> std::vector<Array> {
    rules_are_lost(name);
  };
  p.rules = std::move(rules);
  return make_params(std::move(p));
}

std::vector<Array> lin_transpose(const TransposeCall& call) {
  const auto& p = params_as<CustomLinParams>(call.params.get());
  const auto num_residuals = static_cast<size_t>(p.num_residuals);
  std::vector<Array> cotangents;
  size_t next = 0;
  for (const ShapeDtype& type : p.output_types) {
    cotangents.push_back(has_tangent(type) ? call.cotangents[next++] : Array());
  }
  const std::vector<Array> found = p.rules->backward(call.inputs.first(num_residuals), cotangents);
  FARCALL_ASSERT(found.size() == p.varies.size());
  std::vector<Array> result(num_residuals);
  for (size_t i = 0; i < found.size(); ++i) {
    if (p.varies[i]) result.push_back(found[i]);
  }
  return result;
}

// The backward rule of a batch. The residuals and the cotangents have the given batch axes. The
// cotangent of an input has the batch axis of the input; it is summed over the batch if the input
// has none.
std::vector<Array> batched_backward(const BackwardRule& backward, const BatchAxis& axis,
                                    uint64_t origin, std::span<const int64_t> residual_axes,
                                    std::span<const int64_t> result_axes,
                                    std::span<const int64_t> input_axes,
                                    std::span<const Array> residuals,
                                    std::span<const Array> cotangents) {
  std::vector<Array> inputs(residuals.begin(), residuals.end());
  inputs.insert(inputs.end(), cotangents.begin(), cotangents.end());
  std::vector<int64_t> axes(residual_axes.begin(), residual_axes.end());
  for (size_t i = 0; i < cotangents.size(); ++i) {
    axes.push_back(cotangents[i].is_null() ? kNotBatched : result_axes[i]);
  }
  const size_t split = residuals.size();
  BatchResults found = batch_again(
      [&](std::span<const Array> all) { return backward(all.first(split), all.subspan(split)); },
      inputs, axes, axis, origin);
  std::vector<Array> result;
  for (size_t i = 0; i < found.outputs.size(); ++i) {
    Array cotangent = found.outputs[i];
    if (!cotangent.is_null()) {
      const int64_t to = input_axes[i] == kNotBatched ? 0 : input_axes[i];
      cotangent = move_axis(cotangent, found.axes[i], to, axis.size);
      if (input_axes[i] == kNotBatched) cotangent = basic_operations().sum(cotangent, 0);
    }
    result.push_back(std::move(cotangent));
  }
  return result;
}

BatchResults lin_batch(const BatchCall& call) {
  const auto& p = params_as<CustomLinParams>(call.params.get());
  const auto num_residuals = static_cast<size_t>(p.num_residuals);
  auto batched = std::make_shared<CustomCall>(*p.rules);
  const std::vector<int64_t> residual_axes(call.axes.begin(), call.axes.begin() + p.num_residuals);
  std::vector<int64_t> input_axes(p.varies.size(), kNotBatched);
  size_t next = num_residuals;
  for (size_t i = 0; i < p.varies.size(); ++i) {
    if (p.varies[i]) input_axes[i] = call.axes[next++];
  }
  batched->backward = [original = p.rules->backward, axis = call.axis, residual_axes, input_axes](
                          std::span<const Array> residuals, std::span<const Array> cotangents) {
    const std::vector<int64_t> in_front(cotangents.size(), 0);
    return batched_backward(original, axis, /*origin=*/0, residual_axes, in_front, input_axes,
                            residuals, cotangents);
  };
  CustomLinParams q{batched, p.num_residuals, p.varies, {}};
  if (p.rules->forward_mode) {
    batched->forward_mode = [original = p.rules, axis = call.axis,
                             axes = std::vector<int64_t>(call.axes.begin(), call.axes.end())] {
      const ProgramPtr program = original->forward_mode();
      const std::vector<bool> all(program->outputs.size(), true);
      return batch_program(program, axis, axes, all).program;
    };
  }
  for (const ShapeDtype& type : p.output_types) {
    q.output_types.push_back(batched_type(type, 0, call.axis.size));
  }
  std::vector<Array> outputs =
      bind_primitive(call.primitive, make_params(std::move(q)), call.inputs);
  std::vector<int64_t> axes(outputs.size(), 0);
  return {std::move(outputs), std::move(axes)};
}

// Forward mode of custom_lin, for forward mode over forward mode.
JvpResults lin_jvp(const JvpCall& call) {
  const auto& p = params_as<CustomLinParams>(call.params.get());
  if (!p.rules->forward_mode) throw TypeError(std::string(call.primitive.never_run));
  const ProgramPtr program = p.rules->forward_mode();
  return jvp([&](std::span<const Array> inputs) { return evaluate(*program, inputs); },
             call.primals, call.tangents);
}

ProgramPtr lin_body(const Params* params) {
  const auto& rules = params_as<CustomLinParams>(params).rules;
  return rules->forward_mode ? rules->forward_mode() : nullptr;
}

const TransformRules kLinRules = {.jvp = lin_jvp, .transpose = lin_transpose, .batch = lin_batch};
const Primitive kCustomLin = {
    .name = "custom_lin",
    .type_rule = lin_types,
    .parse = parse_lin,
    .rules = &kLinRules,
    .body = lin_body,
    .never_run =
        "can't apply forward-mode differentiation (jvp, jacfwd) to a custom_vjp function, whose "
        "rules support reverse mode only; use grad, vjp or jacrev (in check_derivatives: "
        "modes=\"rev\"), or give it a custom_jvp"};

const bool kCustomRegistered = [] {
  for (const Primitive* primitive :
       {&kCustomJvpCall, &kCustomVjpCall, &kCustomVmapCall, &kCustomLin}) {
    register_primitive(*primitive);
  }
  return true;
}();

// ---- batches ----

// The batch dimensions of the results of a mapped custom function, on which the function and its
// rules must agree. If an operand is mapped, every result has batch dimension 0. Otherwise only
// captured arrays can be mapped; then the function or the rule that runs first decides which
// results are batched.
class ResultAxes {
 public:
  ResultAxes(const CustomCall& call, const BatchAxis& axis, std::span<const int64_t> operand_axes)
      : name_(call.name),
        axis_(axis),
        is_mapped_(std::ranges::any_of(operand_axes, [](int64_t a) { return a != kNotBatched; })) {}

  // Moves the batch dimensions of `found` to the agreed place. `found` holds the results, or the
  // results and one tangent for each, which are batched like them.
  void settle(BatchResults& found, size_t num_results) {
    std::vector<int64_t> axes(num_results, is_mapped_ ? 0 : kNotBatched);
    for (size_t i = 0; i < found.axes.size(); ++i) {
      if (found.axes[i] != kNotBatched) axes[i % num_results] = 0;
    }
    if (!axes_) axes_ = std::move(axes);
    for (size_t i = 0; i < found.axes.size(); ++i) {
      const int64_t to = (*axes_)[i % num_results];
      Array& output = found.outputs[i];
      if (output.is_null() || found.axes[i] == to) continue;
      if (to == kNotBatched) {
        invalid_argument(
            fmt::format("{}: its custom rule closes over a mapped array, but result {} of "
                        "the function does not depend on it; pass the array as an argument",
                        name_, i % num_results));
      }
      output = move_axis(output, found.axes[i], to, axis_.size);
    }
  }

  const std::vector<int64_t>& axes() const { return *axes_; }

 private:
  std::string name_;
  BatchAxis axis_;
  bool is_mapped_;
  std::optional<std::vector<int64_t>> axes_;
};

// ---- forward mode ----

// The backward rule, with a check that the cotangent of each argument varies over no other axes
// than the argument does.
BackwardRule checked_backward(BackwardRule backward, std::string name, std::vector<AxisSet> axes) {
  return [backward = std::move(backward), name = std::move(name), axes = std::move(axes)](
             std::span<const Array> residuals, std::span<const Array> cotangents) {
    std::vector<Array> found = backward(residuals, cotangents);
    for (size_t i = 0; i < found.size(); ++i) {
      const AxisSet wrong = varying_axes(found[i]) & ~axes[i];
      if (wrong == 0) continue;
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}: the cotangent that its backward rule returns for argument {} "
                              "varies over {}, over which the argument does not; reduce it over "
                              "these axes (psum)",
                              name, i, fmt::join(names_of(wrong), ", ")));
    }
    return found;
  };
}

JvpResults jvp_of_vjp(const CustomCallPtr& call, std::span<const Array> primals,
                      std::span<const Array> tangents) {
  ForwardResults forward = call->forward(primals, present(tangents));
  auto rules = call;
  if (forward.backward || is_tracking_axes()) {
    auto own = std::make_shared<CustomCall>();
    own->name = call->name;
    own->backward = forward.backward ? forward.backward : call->backward;
    if (is_tracking_axes()) {
      own->backward =
          checked_backward(std::move(own->backward), call->name, *varying_axes(primals));
    }
    rules = std::move(own);
  }
  std::vector<Array> found =
      call_linear(rules, std::move(forward.residuals), tangents, types_of(forward.outputs));
  return {std::move(forward.outputs), std::move(found)};
}

// The results, then the tangents of all results that can have one: function and rule agree on their
// number.
std::vector<Array> flat_jvp(const FlatFunction& function, std::span<const Array> primals,
                            std::span<const Array> tangents) {
  JvpResults results = jvp(function, primals, tangents);
  std::vector<Array> flat = results.primals;
  for (size_t i = 0; i < results.primals.size(); ++i) {
    const ShapeDtype type = results.primals[i].type();
    if (has_tangent(type)) flat.push_back(instantiate(results.tangents[i], type));
  }
  return flat;
}

void refuse_captured_tangents(const CustomCall& call, const std::vector<bool>& varies) {
  const auto end = varies.begin() + static_cast<int64_t>(call.num_captured);
  if (std::find(varies.begin(), end, true) == end) return;
  throw LeakedTracerError(fmt::format(
      "{}: detected differentiation with respect to a value that the function closes over; its "
      "custom rule covers only its arguments. Pass the value as an argument, and extend the rule",
      call.name));
}

// The derivative of a custom_vmap is again a custom_vmap, whose rule is the derivative of the
// original rule.
JvpResults jvp_of_vmap(const CustomCallPtr& call, std::span<const Array> primals,
                       std::span<const Array> tangents) {
  const std::vector<bool> varies = present(tangents);
  const size_t count = primals.size();
  auto derivative = std::make_shared<CustomCall>();
  derivative->name = call->name + "_jvp";
  derivative->num_captured = call->num_captured;
  derivative->function = [call, varies, count](std::span<const Array> inputs) {
    return flat_jvp(call->function, inputs.first(count),
                    scatter_arrays(varies, inputs.subspan(count)));
  };
  derivative->batch = [call, all_vary = varies](std::span<const Array> inputs,
                                                std::span<const int64_t> axes,
                                                const BatchAxis& axis) {
    refuse_captured_tangents(*call, all_vary);
    const std::vector<bool> varies(all_vary.begin() + static_cast<int64_t>(call->num_captured),
                                   all_vary.end());
    const size_t count = varies.size();
    // A value and its tangent need the same batch axis.
    std::vector<Array> values(inputs.begin(), inputs.begin() + count), directions;
    std::vector<int64_t> value_axes(axes.begin(), axes.begin() + count);
    size_t next = count;
    for (size_t i = 0; i < count; ++i) {
      directions.emplace_back();
      if (!varies[i]) continue;
      const int64_t tangent_axis = axes[next];
      const Array& tangent = inputs[next++];
      if (value_axes[i] == kNotBatched && tangent_axis != kNotBatched) {
        values[i] = move_axis(values[i], kNotBatched, tangent_axis, axis.size);
        value_axes[i] = tangent_axis;
      }
      directions.back() = value_axes[i] == kNotBatched
                              ? tangent
                              : move_axis(tangent, tangent_axis, value_axes[i], axis.size);
    }
    BatchResults results;
    results.outputs = flat_jvp(
        [&](std::span<const Array> all) {
          BatchResults found = call->batch(all, value_axes, axis);
          results.axes = found.axes;
          return found.outputs;
        },
        values, directions);
    const size_t num_results = results.axes.size();
    for (size_t i = 0; i < num_results; ++i) {
      if (has_tangent(results.outputs[i].type())) results.axes.push_back(results.axes[i]);
    }
    return results;
  };
  std::vector<Array> operands(primals.begin(), primals.end());
  for (const Array& tangent : tangents) {
    if (!tangent.is_null()) operands.push_back(tangent);
  }
  const std::vector<Array> all = call_custom(derivative, operands);
  JvpResults results;
  size_t num_results = 0;
  for (size_t with_tangents = 0; with_tangents < all.size(); ++num_results) {
    with_tangents += has_tangent(all[num_results].type()) ? 2 : 1;
  }
  size_t next = num_results;
  for (size_t i = 0; i < num_results; ++i) {
    results.primals.push_back(all[i]);
    results.tangents.push_back(has_tangent(all[i].type()) ? all[next++] : Array());
  }
  return results;
}

}  // namespace

std::vector<Array> call_linear(const CustomCallPtr& rules, std::vector<Array> residuals,
                               std::span<const Array> tangents,
                               std::span<const ShapeDtype> output_types) {
  CustomLinParams p{rules, static_cast<int64_t>(residuals.size()), {}, {}};
  std::vector<Array> operands = std::move(residuals);
  for (const Array& tangent : tangents) {
    p.varies.push_back(!tangent.is_null());
    if (!tangent.is_null()) operands.push_back(tangent);
  }
  std::vector<bool> has;
  for (const ShapeDtype& type : output_types) {
    p.output_types.push_back(type);
    has.push_back(has_tangent(type));
  }
  return scatter_arrays(has, bind_primitive(kCustomLin, make_params(std::move(p)), operands));
}

bool is_known_by_transpose_alone(const Primitive& primitive, const Params* params) {
  return &primitive == &kCustomLin && !params_as<CustomLinParams>(params).rules->forward_mode;
}

std::vector<Array> call_custom(const CustomCallPtr& call, std::span<const Array> inputs) {
  return current_interpreter().process_custom(call, inputs);
}

std::vector<Array> record_custom_call(const CustomCallPtr& call, std::span<const Array> inputs,
                                      Interpreter& recorder) {
  const Recording recording =
      record_closure(call->function, types_of(inputs), varying_axes(inputs), call->name);
  std::vector<Array> operands = recording.captured;
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  CustomCallParams p{call, recording.program,
                     static_cast<int64_t>(recording.captured.size() + call->num_captured)};
  return recorder.process(primitive_of(*call), make_params(std::move(p)), operands);
}

JvpResults jvp_of_custom_call(const CustomCallPtr& call, std::span<const Array> primals,
                              std::span<const Array> tangents) {
  if (!call->jvp && !call->forward) return jvp_of_vmap(call, primals, tangents);
  refuse_captured_tangents(*call, present(tangents));
  const auto own_primals = primals.subspan(call->num_captured);
  const auto own_tangents = tangents.subspan(call->num_captured);
  return call->jvp ? call->jvp(own_primals, own_tangents)
                   : jvp_of_vjp(call, own_primals, own_tangents);
}

BatchResults batch_of_custom_call(const CustomCallPtr& call, std::span<const Array> inputs,
                                  std::span<const int64_t> axes, const BatchAxis& axis,
                                  uint64_t origin) {
  if (call->batch) {
    return call->batch(inputs.subspan(call->num_captured), axes.subspan(call->num_captured), axis);
  }
  const std::vector<int64_t> all_axes(axes.begin(), axes.end());
  const std::vector<int64_t> own_axes(axes.begin() + static_cast<int64_t>(call->num_captured),
                                      axes.end());
  const auto result_axes = std::make_shared<ResultAxes>(*call, axis, axes);
  auto batched = std::make_shared<CustomCall>();
  batched->name = call->name;
  batched->num_captured = call->num_captured;
  batched->function = [call, all_axes, axis, origin, result_axes](std::span<const Array> all) {
    BatchResults found = batch_again(call->function, all, all_axes, axis, origin);
    result_axes->settle(found, found.outputs.size());
    return std::move(found.outputs);
  };
  if (call->jvp) {
    batched->jvp = [call, own_axes, axis, origin, result_axes](std::span<const Array> primals,
                                                               std::span<const Array> tangents) {
      std::vector<Array> all(primals.begin(), primals.end());
      all.insert(all.end(), tangents.begin(), tangents.end());
      std::vector<int64_t> both = own_axes;
      both.insert(both.end(), own_axes.begin(), own_axes.end());
      const size_t count = primals.size();
      BatchResults found = batch_again(
          [&](std::span<const Array> unbatched) {
            JvpResults results = call->jvp(unbatched.first(count), unbatched.subspan(count));
            std::vector<Array> flat = std::move(results.primals);
            flat.insert(flat.end(), results.tangents.begin(), results.tangents.end());
            return flat;
          },
          all, both, axis, origin);
      const size_t num_results = found.outputs.size() / 2;
      result_axes->settle(found, num_results);
      const auto middle = found.outputs.begin() + static_cast<int64_t>(num_results);
      return JvpResults{{found.outputs.begin(), middle}, {middle, found.outputs.end()}};
    };
  } else {
    batched->forward = [call, own_axes, axis, origin, result_axes](
                           std::span<const Array> all, const std::vector<bool>& varies) {
      size_t num_results = 0;
      BackwardRule backward = call->backward;
      BatchResults outputs = batch_again(
          [&](std::span<const Array> unbatched) {
            ForwardResults results = call->forward(unbatched, varies);
            num_results = results.outputs.size();
            if (results.backward) backward = std::move(results.backward);
            std::vector<Array> flat = std::move(results.outputs);
            flat.insert(flat.end(), results.residuals.begin(), results.residuals.end());
            return flat;
          },
          all, own_axes, axis, origin);
      const auto split = static_cast<int64_t>(num_results);
      ForwardResults results;
      results.residuals.assign(outputs.outputs.begin() + split, outputs.outputs.end());
      const std::vector<int64_t> residual_axes(outputs.axes.begin() + split, outputs.axes.end());
      outputs.outputs.resize(num_results);
      outputs.axes.resize(num_results);
      result_axes->settle(outputs, num_results);
      results.outputs = std::move(outputs.outputs);
      results.backward = [backward, own_axes, residual_axes, axis, origin, result_axes](
                             std::span<const Array> residuals, std::span<const Array> cotangents) {
        return batched_backward(backward, axis, origin, residual_axes, result_axes->axes(),
                                own_axes, residuals, cotangents);
      };
      return results;
    };
  }
  std::vector<Array> outputs = call_custom(batched, inputs);
  return {std::move(outputs), result_axes->axes()};
}

}  // namespace farcall
