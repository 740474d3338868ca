// custom_partitioning: functions that say themselves how they are divided among the devices of a
// mesh.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/ops/sharding_rule.h>
#include <farcall/program/sharding.h>
#include <farcall/trace/leaf_call.h>
#include <farcall/trace/tree_call.h>

namespace farcall {

// A whole array and how it lies over the mesh: an entry for each dimension.
struct SpreadType {
  ShapeDtype type;
  PartitionSpec spec;
};
// A call on arrays over a mesh, by leaf of the arguments and of the result.
struct SpreadCall {
  const Mesh& mesh;
  std::vector<SpreadType> operands, results;
};
// What each device runs on its shards, and how these are cut and put together. Collectives in the
// function know the axes of the mesh.
struct ShardFunction {
  FlatFunction function;
  std::vector<PartitionSpec> operands, results;
};

// The rules of a function, all but `partition` optional.
struct CustomPartitioning {
  std::string name = {};  // in programs and messages
  // Asked when a program is compiled for arrays of which some are split. Operands are moved to lie
  // as it says.
  std::function<ShardFunction(const SpreadCall& call)> partition;
  // How the function ties dimensions, by which splits are followed from operands to results and
  // back. A name may have several sizes, and is divided where its parts divide all of them. Whoever
  // divides a reduction factor adds the results up (psum).
  std::function<ShardingRule(const SpreadCall& call)> sharding_rule = {};
  // Without a sharding rule: how results lie, from the operands; and where these lie whole, from
  // how the results are wanted.
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

// `function`, which programs on arrays over a mesh divide by its rules. Elsewhere, on arrays that
// lie whole, inside shard_map, and under derivatives and vmap, it is the function itself; a
// custom_vjp around it keeps both halves divided.
//
// Raises INVALID_ARGUMENT without `partition`; a call, for a rule that does not fit the arrays, for
// specs that do not fit the mesh, and for shards of other types than the specs give.
template <class F>
auto custom_partitioning(F function, CustomPartitioning rules) {
  return detail::CustomPartitioned<F>{std::move(function), detail::checked_rules(std::move(rules))};
}

}  // namespace farcall
