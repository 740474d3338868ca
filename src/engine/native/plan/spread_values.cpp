#include "engine/native/plan/spread_values.h"

#include <algorithm>

#include <farcall/primitives/shard_map.h>
#include <farcall/program/walk.h>

#include "engine/native/kernels/meshes/shard_map.h"

namespace farcall::native {
namespace {

// Null unless the equation is a shard_map over several processes.
const ShardMapParams* shared_map(const Equation& equation) {
  const auto* params = try_params<ShardMapParams>(equation.params.get());
  return params && !params->devices.empty() ? params : nullptr;
}

bool has_shared_map(const Program& program) {
  return std::ranges::any_of(program.equations, shared_map);
}

}  // namespace

std::vector<bool> only_parts_read(const Program& program, const Equation& equation,
                                  bool is_nested) {
  std::vector<bool> result(equation.outputs.size(), false);
  const ShardMapParams* made_by = shared_map(equation);
  if (!made_by) return result;
  const auto users = find_users(program);
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = std::ranges::all_of(users[equation.outputs[i]], [&](const Use& use) {
      if (use.is_output()) return !is_nested;
      const ShardMapParams* reader = shared_map(program.equations[use.equation]);
      return reader && places_alike(sharding_of(*made_by, made_by->out_specs[i]),
                                    sharding_of(*reader, reader->in_specs[use.operand]));
    });
  }
  return result;
}

Shardings input_shardings(const Program& program) {
  if (!has_shared_map(program)) return {};
  const auto users = find_users(program);
  Shardings result(program.inputs.size());
  for (size_t i = 0; i < result.size(); ++i) {
    for (const Use& use : users[program.inputs[i]]) {
      const ShardMapParams* reader =
          use.is_output() ? nullptr : shared_map(program.equations[use.equation]);
      if (reader && !result[i]) result[i] = sharding_of(*reader, reader->in_specs[use.operand]);
      if (!reader ||
          !places_alike(*result[i], sharding_of(*reader, reader->in_specs[use.operand]))) {
        result[i].reset();
        break;
      }
    }
  }
  return result;
}

Shardings output_shardings(const Program& program) {
  if (!has_shared_map(program)) return {};
  Shardings result(program.outputs.size());
  for (const Equation& equation : program.equations) {
    const ShardMapParams* made_by = shared_map(equation);
    if (!made_by) continue;
    for (size_t i = 0; i < result.size(); ++i) {
      const Atom output = program.outputs[i];
      const auto found = std::ranges::find(equation.outputs, output.index);
      if (!output.is_variable() || found == equation.outputs.end()) continue;
      const auto number = static_cast<size_t>(found - equation.outputs.begin());
      result[i] = sharding_of(*made_by, made_by->out_specs[number]);
    }
  }
  return result;
}

}  // namespace farcall::native
