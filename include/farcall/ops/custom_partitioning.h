// custom_partitioning: functions with custom rules for their division among the devices of a mesh.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/ops/sharding_rule.h>
#include <farcall/program/sharding.h>
#include <farcall/trace/leaf_call.h>
#include <farcall/trace/tree_call.h>

namespace farcall {

// The type of a whole array and its spec on the mesh: an entry for each dimension.
struct SpreadType {
  ShapeDtype type;
  PartitionSpec spec;
};
// A call on arrays over a mesh; leaves of the arguments and of the result.
struct SpreadCall {
  const Mesh& mesh;
  std::vector<SpreadType> operands, results;
};
// The function that each device runs on its shards, and the specs of its operands and results.
// Collectives in the function can use the axes of the mesh.
struct ShardFunction {
  FlatFunction function;
  std::vector<PartitionSpec> operands, results;
};

// The rules of a function. Only `partition` is required.
struct CustomPartitioning {
  std::string name = {};  // in programs and messages
  // Called when a program is compiled for arrays of which at least one is split. Operands are moved
  // to the specs that it returns.
  std::function<ShardFunction(const SpreadCall& call)> partition;
  // How the dimensions of operands and results are related; splits propagate along these relations
  // in both directions. A factor may have several sizes; it is divided if the number of parts
  // divides all of them. If a reduction factor is divided, the function of `partition` must sum the
  // results (psum).
  std::function<ShardingRule(const SpreadCall& call)> sharding_rule = {};
  // Used without a sharding rule. Both return the specs of the results. The first computes them
  // from the specs of the operands. The second is called if all operands are whole, and computes
  // them from the specs that are requested for the results.
  std::function<std::vector<PartitionSpec>(const SpreadCall& call)> infer_sharding_from_operands =
      {};
  std::function<std::vector<PartitionSpec>(const SpreadCall& call)> propagate_user_sharding = {};
};
using CustomPartitioningPtr = std::shared_ptr<const CustomPartitioning>;

namespace detail {

FARCALL_API std::vector<Array> call_custom_partitioning(LeafCall& call,
                                                        const CustomPartitioningPtr& rules);
FARCALL_API CustomPartitioningPtr checked_rules(CustomPartitioning rules);

template <class F>
struct CustomPartitioned {
  using Parameters = detail::Parameters<F>;
  mutable F function;
  CustomPartitioningPtr rules;

  template <Argument... Args>
  requires(takes<F, Args...>()) auto operator()(const Args&... args) const {
    TreeCallOf<F&, Arguments<F, Args...>> call("custom_partitioning(" + rules->name + ")", function,
                                               {args...});
    const std::vector<Array> results = call_custom_partitioning(call, rules);
    return call.result_of(results);
  }
};

}  // namespace detail

// Returns `function` with custom rules for its division in programs on arrays over a mesh. On whole
// arrays, inside shard_map, and under derivatives and vmap, it is the function itself. With a
// custom_vjp around it, the forward and the backward pass are both divided.
//
// Raises INVALID_ARGUMENT without `partition`. A call raises INVALID_ARGUMENT for a rule that does
// not fit the arrays, for specs that do not fit the mesh, and if the types of shards do not match
// the specs.
template <class F>
auto custom_partitioning(F function, CustomPartitioning rules) {
  return detail::CustomPartitioned<F>{std::move(function), detail::checked_rules(std::move(rules))};
}

}  // namespace farcall
