#include <farcall/ops/sharding_constraint.h>

#include <utility>

#include <farcall/primitives/primitives.h>
#include <farcall/primitives/shard_map.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/placement.h>
#include <farcall/trace/rules.h>

#include "ops/internal/register.h"
#include "ops/internal/rules.h"
#include "ops/internal/type_rules.h"
#include "ops/sharding/batched_spec.h"

namespace farcall {
namespace {

std::vector<ShapeDtype> constraint_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  check_operand_count(inputs, 1);
  const auto& p = params_as<ShardingConstraintParams>(params);
  const Partition checked(inputs[0], p.spec, p.axes(), "sharding");
  return {inputs[0]};
}

BatchResults constraint_batch(const BatchCall& call) {
  ShardingConstraintParams p = params_as<ShardingConstraintParams>(call.params.get());
  const int64_t axis = call.axes[0];
  p.spec = batched_spec(std::move(p.spec), axis, call.axis, p.axes());
  return {bind_primitive(call.primitive, make_params(std::move(p)), call.inputs), {axis}};
}

std::vector<Array> constraint_at_once(const ParamsPtr&, std::span<const Array> inputs) {
  return {inputs.begin(), inputs.end()};
}

const TransformRules kConstraintRules = {.jvp = linear_jvp,
                                         .transpose = self_transpose,
                                         .batch = constraint_batch,
                                         .evaluate = constraint_at_once};
}  // namespace

const Primitive kShardingConstraint = {.name = "sharding_constraint",
                                       .type_rule = constraint_rule,
                                       .parse = parse_params<ShardingConstraintParams>,
                                       .flops = no_flops,
                                       .rules = &kConstraintRules,
                                       .kind = PrimitiveKind::kBarrier};
FARCALL_REGISTER_PRIMITIVE(kShardingConstraint);

Array with_sharding_constraint(const Array& x, const NamedSharding& sharding) {
  if (x.is_concrete()) return device_put(x, sharding);
  ShardingConstraintParams params{{}, sharding.spec, sharding.mesh};
  for (const MeshAxis& axis : sharding.mesh.axes()) params.mesh.emplace_back(axis.name, axis.size);
  return bind_one(kShardingConstraint, make_params(std::move(params)), {&x, 1});
}

}  // namespace farcall
