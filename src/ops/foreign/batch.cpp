// Batching of foreign calls: by the definition of the target, or by vmap_method.
#include <optional>

#include <fmt/format.h>

#include <farcall/ops/define.h>
#include <farcall/program/program.h>
#include <farcall/trace/batch.h>

#include "ops/foreign/rules.h"
#include "ops/foreign/vmap_methods.h"

namespace farcall {
namespace {

// Adds a leading batch dimension, which varies slowest in memory.
MajorToMinor with_batch_in_front(const MajorToMinor& layout) {
  if (!layout) return layout;
  std::vector<int64_t> batched{0};
  for (const int64_t axis : *layout) batched.push_back(axis + 1);
  return batched;
}

// The types of the operands for one element of the batch.
std::vector<ShapeDtype> types_of_elements(const BatchCall& call) {
  std::vector<ShapeDtype> types = types_of(call.inputs);
  for (size_t i = 0; i < types.size(); ++i) {
    if (call.is_batched(i)) types[i] = unbatched_type(types[i], call.axes[i]);
  }
  return types;
}

BatchResults batch_by_rule(const BatchCall& call, const TargetDefinition& definition) {
  const auto& p = params_as<FfiCallParams>(call.params.get());
  BatchResults results =
      definition.batch({p, types_of_elements(call)}, call.inputs, call.axes, call.axis);
  const auto fail = [&](const std::string& what) {
    invalid_argument(fmt::format("the batch rule of target \"{}\": {}", p.target_name, what));
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
  const auto widened = [&](const std::vector<bool>& is_widened, std::vector<ShapeDtype> results) {
    FfiCallParams wide = p;
    std::vector<int64_t>& gained = wide.batched_operands.emplace_back();
    for (size_t i = 0; i < is_widened.size(); ++i) {
      if (!is_widened[i]) continue;
      wide.input_layouts[i] = with_batch_in_front(wide.input_layouts[i]);
      gained.push_back(static_cast<int64_t>(i));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].is_token())
        wide.output_layouts[i] = with_batch_in_front(wide.output_layouts[i]);
    }
    wide.result_types = std::move(results);
    return make_params(std::move(wide));
  };
  return batch_by_method(call, {p.target_name, p.result_types, p.input_output_aliases, widened},
                         *method);
}

}  // namespace farcall
