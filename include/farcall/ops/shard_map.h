// shard_map: functions of one device's shards of arrays, with the axes of a mesh bound by name, so
// that collectives (collectives.h) know them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/program/sharding.h>
#include <farcall/trace/leaf_call.h>
#include <farcall/trace/tree_call.h>

namespace farcall {

struct ShardMapOptions {
  Mesh mesh;
  // By leaf of the arguments and of the result; one stands for all leaves.
  std::vector<PartitionSpec> in_specs = {{}};
  std::vector<PartitionSpec> out_specs = {{}};
  // The axes that are bound; empty: all. Devices along the others have the same shards.
  std::vector<std::string> axis_names = {};
  // Whether it is an error when a result might differ along an axis that its spec leaves out.
  bool check_replication = true;
};

namespace detail {

// The specs have one entry for each leaf; those of the result are asked for when it is known.
FARCALL_API std::vector<Array> call_shard_map(
    LeafCall& call, const ShardMapOptions& options,
    const std::function<std::vector<PartitionSpec>()>& out_specs);
FARCALL_API std::vector<Array> call_shard_map(TreeCall& call, const ShardMapOptions& options);

template <class F>
struct ShardMapped {
  using Parameters = detail::Parameters<F>;
  mutable F function;
  ShardMapOptions options;

  template <Argument... Args>
  requires(takes<F, Args...>()) auto operator()(const Args&... args) const {
    TreeCallOf<F&, Arguments<F, Args...>> call("shard_map", function, {args...});
    const std::vector<Array> results = call_shard_map(call, options);
    return call.result_of(results);
  }
};

}  // namespace detail

// `function` as a function of whole arrays: it is recorded for one device's shards, and every
// device runs it on its own. Results are put together as their specs say, and lie over the mesh
// where the call is not recorded itself. Devices along an axis that the spec of an argument leaves
// out get the same elements; of a result it takes the first device's, and the others must have the
// same.
//
// Derivatives of the whole are those of the function of whole arrays. Inside, the derivative of a
// psum is the psum of the derivative.
//
// A call raises INVALID_ARGUMENT for a mesh without axes, for another number of specs than leaves,
// for specs that do not fit the mesh or the array (Partition), and for results that may differ
// where their specs say that they do not.
template <class F>
auto shard_map(F function, ShardMapOptions options) {
  return detail::ShardMapped<F>{std::move(function), std::move(options)};
}

}  // namespace farcall
