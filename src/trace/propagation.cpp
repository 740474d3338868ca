#include "trace/propagation.h"

#include <algorithm>

#include <farcall/core/error.h>
#include <farcall/primitives/reduce.h>
#include <farcall/primitives/shard_map.h>
#include <farcall/primitives/structural.h>
#include <farcall/program/walk.h>

namespace farcall {
namespace {

// Drops the entries after the last split dimension: equivalent specs become equal.
PartitionSpec shortened(PartitionSpec spec) {
  while (!spec.empty() && spec.back().empty()) spec.pop_back();
  return spec;
}

// A dimension that is kept, or becomes the major part of a larger dimension, is split as before.
PartitionSpec reshaped(const PartitionSpec& spec, std::span<const int64_t> from,
                       std::span<const int64_t> to) {
  PartitionSpec result(to.size());
  int64_t before = 1;  // number of elements of the dimensions before
  for (size_t i = 0; i < from.size(); before *= from[i++]) {
    const std::vector<std::string> axes = entry(spec, static_cast<int64_t>(i));
    if (axes.empty() || from[i] == 0) continue;
    int64_t to_before = 1;
    for (size_t j = 0; j < to.size(); to_before *= to[j++]) {
      if (to_before == before && to[j] > 1 && to[j] % from[i] == 0) {
        result[j] = axes;
        break;
      }
    }
  }
  return result;
}

}  // namespace

Propagation::Propagation(const Program& program, std::span<const PartitionSpec> inputs,
                         std::span<const MeshAxis> axes)
    : program_(program), axes_(axes), specs_(program.variable_types.size()) {
  for (size_t i = 0; i < inputs.size(); ++i) specs_[program.inputs[i]] = shortened(inputs[i]);
}

std::vector<PartitionSpec> Propagation::inputs_of(const Equation& equation) const {
  std::vector<PartitionSpec> inputs;
  for (const Atom atom : equation.inputs) inputs.push_back(spec_of(atom));
  return inputs;
}

std::vector<PartitionSpec> Propagation::outputs() const {
  std::vector<PartitionSpec> outputs;
  for (const Atom atom : program_.outputs) outputs.push_back(spec_of(atom));
  return outputs;
}

void Propagation::set_results(const Equation& equation, std::span<const PartitionSpec> specs) {
  for (size_t i = 0; i < specs.size(); ++i) specs_[equation.outputs[i]] = shortened(specs[i]);
}

std::vector<PartitionSpec> Propagation::results_of(const Equation& equation) const {
  const Params* params = equation.params.get();
  if (const auto* map = try_params<ShardMapParams>(params)) {
    return has_axes(axes_, map->mesh) ? map->out_specs : std::vector<PartitionSpec>();
  }
  const auto* constraint = try_params<ShardingConstraintParams>(params);
  if (constraint && has_axes(axes_, constraint->mesh)) return {constraint->spec};
  const std::vector<PartitionSpec> inputs = inputs_of(equation);
  if (std::ranges::all_of(inputs, &PartitionSpec::empty)) return {};
  if (const ProgramPtr body = called_program(equation);
      body && body->inputs.size() == inputs.size() &&
      body->outputs.size() == equation.outputs.size()) {
    Propagation inside(*body, inputs, axes_);
    inside.add_all();
    return inside.outputs();
  }
  if (const auto spec = by_dimensions(equation, inputs)) return {*spec};
  // If an operand has the shape of the result, the operation is probably elementwise: use its spec.
  std::vector<PartitionSpec> results;
  for (const uint32_t output : equation.outputs) {
    PartitionSpec& result = results.emplace_back();
    for (size_t i = 0; i < inputs.size() && result.empty(); ++i) {
      if (std::ranges::equal(shape_of(equation.inputs[i]),
                             program_.variable_types[output].shape())) {
        result = inputs[i];
      }
    }
  }
  return results;
}

// The result spec of operations whose parameters map dimensions of the operands to dimensions of
// the result.
std::optional<PartitionSpec> Propagation::by_dimensions(
    const Equation& equation, const std::vector<PartitionSpec>& inputs) const {
  const Params* params = equation.params.get();
  PartitionSpec result;
  if (const auto* p = try_params<TransposeParams>(params)) {
    for (const int64_t dimension : p->permutation) result.push_back(entry(inputs[0], dimension));
    return result;
  }
  if (const auto* p = try_params<ReduceParams>(params)) {
    for (int64_t i = 0; i < std::ssize(shape_of(equation.inputs[0])); ++i) {
      if (std::ranges::find(p->axes, i) == p->axes.end()) result.push_back(entry(inputs[0], i));
    }
    return result;
  }
  if (const auto* p = try_params<BroadcastInDimParams>(params)) {
    result.resize(p->shape.size());
    for (size_t i = 0; i < p->broadcast_dimensions.size(); ++i) {
      const auto to = static_cast<size_t>(p->broadcast_dimensions[i]);
      const bool is_kept = shape_of(equation.inputs[0])[i] == p->shape[to];
      if (is_kept) result[to] = entry(inputs[0], static_cast<int64_t>(i));
    }
    return result;
  }
  if (try_params<ReshapeParams>(params)) {
    return reshaped(inputs[0], shape_of(equation.inputs[0]),
                    program_.variable_types[equation.outputs[0]].shape());
  }
  if (try_params<SliceParams>(params)) {
    for (int64_t i = 0; i < std::ssize(shape_of(equation.inputs[0])); ++i) {
      const auto d = static_cast<size_t>(i);
      const bool is_whole = program_.variable_types[equation.outputs[0]].shape()[d] ==
                            shape_of(equation.inputs[0])[d];
      result.push_back(is_whole ? entry(inputs[0], i) : std::vector<std::string>());
    }
    return result;
  }
  if (const auto* p = try_params<DotGeneralParams>(params)) return product(*p, equation, inputs);
  return std::nullopt;
}

PartitionSpec Propagation::product(const DotGeneralParams& p, const Equation& equation,
                                   const std::vector<PartitionSpec>& inputs) const {
  PartitionSpec result;
  for (const int64_t dimension : p.lhs_batch) result.push_back(entry(inputs[0], dimension));
  const auto add_rest = [&](size_t operand, const std::vector<int64_t>& batch,
                            const std::vector<int64_t>& contracting) {
    for (int64_t i = 0; i < std::ssize(shape_of(equation.inputs[operand])); ++i) {
      const auto is_among = [&](const auto& all) { return std::ranges::find(all, i) != all.end(); };
      if (!is_among(batch) && !is_among(contracting)) result.push_back(entry(inputs[operand], i));
    }
  };
  add_rest(0, p.lhs_batch, p.lhs_contracting);
  add_rest(1, p.rhs_batch, p.rhs_contracting);
  // An axis may split only one dimension.
  std::vector<std::string> taken;
  for (std::vector<std::string>& one : result) {
    const auto is_taken = [&](const std::string& name) {
      return std::ranges::find(taken, name) != taken.end();
    };
    if (std::ranges::any_of(one, is_taken)) one.clear();
    taken.insert(taken.end(), one.begin(), one.end());
  }
  return result;
}

bool fits(ShapeDtype type, const PartitionSpec& spec, std::span<const MeshAxis> axes) {
  try {
    const Partition partition(type, spec, axes, "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace farcall
