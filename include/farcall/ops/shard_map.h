// shard_map: maps a function over the shards of arrays, one per device. The axes of the mesh are
// bound by name, so that collectives (collectives.h) can use them.
#pragma once

#include <functional>
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
  // One per leaf of the arguments and of the result; a single one applies to all leaves.
  std::vector<PartitionSpec> in_specs = {{}};
  std::vector<PartitionSpec> out_specs = {{}};
  // The axes to bind; empty means all. Devices along the other axes have the same shards.
  std::vector<std::string> axis_names = {};
  // Track the axes along which values vary (trace/varying.h), and raise if a result may differ
  // along an axis that its spec omits.
  bool check_replication = true;
};

namespace detail {

// The specs have one entry per leaf. `out_specs` is called after the result is known.
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

// Turns `function`, which works on one device's shards, into a function of whole arrays. It is
// recorded for the shards of one device, and every device runs it. The results are assembled as
// their specs say; in eager mode they are distributed over the mesh. If an argument's spec omits an
// axis, all devices along it receive the same elements. If a result's spec omits an axis, the first
// device's result is used, and the others must be equal.
//
// The derivative of the mapped function is that of the function of whole arrays. With
// check_replication, derivatives inside are summed over the devices for values that all devices
// share, and the transpose of a psum is the identity. Without it, each device differentiates its
// own function, and the transpose of a psum is a psum.
//
// A call raises INVALID_ARGUMENT for a mesh without axes, if the numbers of specs and leaves
// differ, for specs that do not fit the mesh or the array (Partition), and for results that may
// differ along axes that their specs omit.
template <class F>
auto shard_map(F function, ShardMapOptions options) {
  return detail::ShardMapped<F>{std::move(function), std::move(options)};
}

}  // namespace farcall
