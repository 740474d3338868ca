// Batching of foreign calls: what each vmap_method does.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <farcall/ops/define.h>
#include <farcall/ops/lax.h>
#include <farcall/primitives/control_flow.h>
#include <farcall/program/program.h>
#include <farcall/trace/batch.h>
#include <farcall/trace/interpreter.h>

#include "ops/ffi_call_rules.h"

namespace farcall {
namespace {

ShapeDtype with_leading(ShapeDtype type, int64_t size) {
  return type.is_token() ? type : batched_type(type, 0, size);
}

// The batch dimension, in front, is the slowest.
MajorToMinor with_batch(const MajorToMinor& layout) {
  if (!layout) return layout;
  std::vector<int64_t> batched{0};
  for (const int64_t axis : *layout) batched.push_back(axis + 1);
  return batched;
}

bool is_aliased(const FfiCallParams& p, size_t input) {
  return std::ranges::any_of(p.input_output_aliases, [&](const auto& alias) {
    return alias.first == static_cast<int64_t>(input);
  });
}

std::vector<int64_t> result_axes(std::span<const ShapeDtype> results) {
  std::vector<int64_t> axes;
  for (const ShapeDtype type : results) axes.push_back(type.is_token() ? kNotBatched : 0);
  return axes;
}

// One call on whole batches. Operands without a batch dimension get one of this size, or none. The
// memory of an aliased operand is that of a result, so that it needs the full size.
BatchResults batch_at_once(const BatchCall& call, std::vector<Array> inputs,
                           std::optional<int64_t> unbatched_size) {
  FfiCallParams p = params_as<FfiCallParams>(call.params.get());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].type().is_token()) continue;
    if (!call.is_batched(i)) {
      const auto size = is_aliased(p, i) ? call.axis.size : unbatched_size;
      if (!size) continue;
      inputs[i] = move_axis(inputs[i], kNotBatched, 0, *size);
    }
    p.input_layouts[i] = with_batch(p.input_layouts[i]);
  }
  for (size_t i = 0; i < p.result_types.size(); ++i) {
    if (p.result_types[i].is_token()) continue;
    p.result_types[i] = with_leading(p.result_types[i], call.axis.size);
    p.output_layouts[i] = with_batch(p.output_layouts[i]);
  }
  std::vector<int64_t> axes = result_axes(p.result_types);
  return {bind_primitive(call.primitive, make_params(std::move(p)), inputs), std::move(axes)};
}

// A scan of one call. Tokens are handed from step to step.
BatchResults batch_in_loop(const BatchCall& call, std::span<const Array> inputs) {
  const auto& p = params_as<FfiCallParams>(call.params.get());
  std::vector<Array> constants, slices, carry;
  std::vector<int64_t> carried(p.result_types.size(), -1);
  for (size_t i = 0; i < p.result_types.size(); ++i) {
    if (!p.result_types[i].is_token()) continue;
    carried[i] = static_cast<int64_t>(carry.size());
    carry.push_back(lax::create_token());
  }
  ProgramBuilder step;
  std::vector<Atom> operands(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (call.is_batched(i)) continue;
    constants.push_back(inputs[i]);
    operands[i] = Atom::variable(step.add_input(inputs[i].type()));
  }
  for (const Array& token : carry) step.add_input(token.type());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!call.is_batched(i)) continue;
    slices.push_back(inputs[i]);
    const ShapeDtype type = inputs[i].type();
    operands[i] = Atom::variable(step.add_input(type.with_shape(type.shape().subspan(1))));
  }
  const auto results = step.add_equation(call.primitive, call.params, operands, current_location());
  std::vector<Atom> outputs;
  for (const bool tokens : {true, false}) {
    for (size_t i = 0; i < results.size(); ++i) {
      if ((carried[i] >= 0) == tokens) outputs.push_back(Atom::variable(results[i]));
    }
  }
  const ScanParams scan{.jaxpr = step.build(outputs, p.target_name),
                        .length = call.axis.size,
                        .num_carry = static_cast<int64_t>(carry.size()),
                        .num_consts = static_cast<int64_t>(constants.size())};
  std::vector<Array> all = std::move(constants);
  all.insert(all.end(), carry.begin(), carry.end());
  all.insert(all.end(), slices.begin(), slices.end());
  const std::vector<Array> found = bind_primitive(*find_primitive("scan"), make_params(scan), all);
  BatchResults batched{{}, result_axes(p.result_types)};
  size_t next = carry.size();
  for (const int64_t token : carried) {
    batched.outputs.push_back(token >= 0 ? found[static_cast<size_t>(token)] : found[next++]);
  }
  return batched;
}

Array slice_of(const Array& x, int64_t i) {
  std::vector<int64_t> starts(x.rank(), 0), limits(x.shape().begin(), x.shape().end());
  starts[0] = i;
  limits[0] = i + 1;
  return lax::reshape(lax::slice(x, starts, limits), x.shape().subspan(1));
}

// One call for each element of the batch.
BatchResults batch_unrolled(const BatchCall& call, std::span<const Array> inputs) {
  const auto& p = params_as<FfiCallParams>(call.params.get());
  std::vector<std::vector<Array>> parts(p.result_types.size());
  for (int64_t n = 0; n < call.axis.size; ++n) {
    std::vector<Array> operands;
    for (size_t i = 0; i < inputs.size(); ++i) {
      operands.push_back(call.is_batched(i) ? slice_of(inputs[i], n) : inputs[i]);
    }
    const auto results = bind_primitive(call.primitive, call.params, operands);
    for (size_t i = 0; i < results.size(); ++i) {
      const ShapeDtype type = results[i].type();
      parts[i].push_back(type.is_token() ? results[i]
                                         : lax::reshape(results[i], with_leading(type, 1).shape()));
    }
  }
  BatchResults batched{{}, result_axes(p.result_types)};
  for (size_t i = 0; i < parts.size(); ++i) {
    const ShapeDtype type = p.result_types[i];
    if (type.is_token()) {
      batched.outputs.push_back(parts[i].empty() ? lax::create_token() : parts[i].back());
    } else if (parts[i].empty()) {
      batched.outputs.push_back(basic_operations().zeros(with_leading(type, 0)));
    } else {
      batched.outputs.push_back(lax::concatenate(parts[i], 0));
    }
  }
  return batched;
}

BatchResults batch_by_rule(const BatchCall& call, const TargetDefinition& definition) {
  const auto& p = params_as<FfiCallParams>(call.params.get());
  BatchResults results = definition.batch({p}, call.inputs, call.axes, call.axis);
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("the batch rule of target \"{}\": {}", p.target_name, what));
  };
  const size_t count = p.result_types.size();
  if (results.outputs.size() != count || results.axes.size() != count) {
    fail(fmt::format("expected {} results and axes, got {} and {}", count, results.outputs.size(),
                     results.axes.size()));
  }
  for (size_t i = 0; i < count; ++i) {
    const ShapeDtype got = results.outputs[i].type();
    const int64_t axis = results.axes[i];
    ShapeDtype wanted = p.result_types[i];
    if (axis != kNotBatched) {
      if (wanted.is_token() || axis < 0 || axis > static_cast<int64_t>(wanted.shape().size())) {
        fail(fmt::format("axis {} of result {} is none of its dimensions", axis, i));
      }
      wanted = batched_type(wanted, axis, call.axis.size);
    }
    if (got.strengthened() != wanted.strengthened()) {
      fail(fmt::format("result {} should be {}, got {}", i, wanted.strengthened().to_string(),
                       got.to_string()));
    }
  }
  return results;
}

}  // namespace

BatchResults ffi_call_batch(const BatchCall& call) {
  const auto& p = params_as<FfiCallParams>(call.params.get());
  const TargetDefinitionPtr definition = find_definition(p.target_name);
  std::optional<std::string> method = p.vmap_method;
  if (!method && definition) {
    if (definition->batch) return batch_by_rule(call, *definition);
    method = definition->vmap_method;
  }
  if (!method) {
    throw Error(
        ErrorCode::kUnimplemented,
        fmt::format("ffi_call(\"{}\"): vmap needs a vmap_method, and none was given: use "
                    "\"sequential\" (one call for each element), \"sequential_unrolled\", "
                    "\"expand_dims\" or \"broadcast_all\" (one call on batched operands), or give "
                    "the target a batching rule with define",
                    p.target_name));
  }
  std::vector<Array> inputs;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    inputs.push_back(call.is_batched(i) ? move_axis(call.inputs[i], call.axes[i], 0, call.axis.size)
                                        : call.inputs[i]);
  }
  if (method == "sequential") return batch_in_loop(call, inputs);
  if (method == "sequential_unrolled") return batch_unrolled(call, inputs);
  if (method == "expand_dims") return batch_at_once(call, std::move(inputs), 1);
  if (method == "broadcast_all") return batch_at_once(call, std::move(inputs), call.axis.size);
  return batch_at_once(call, std::move(inputs), std::nullopt);  // legacy_vectorized
}

}  // namespace farcall
