// Functions of one device's part of arrays, with the axes of a mesh of devices bound by name, so
// that collectives (collectives.h) know them. There is one device: every axis has size one, and the
// part is the whole array.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/record.h>
#include <farcall/trace/tree_call.h>

namespace farcall {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
};
using Mesh = std::vector<MeshAxis>;
// For each of the first dimensions of an array the axes that it is split over; none is allowed.
using PartitionSpec = std::vector<std::vector<std::string>>;

// Calls `function` with these axes bound, each of size one. Raises INVALID_ARGUMENT for a name that
// is empty or given twice.
FARCALL_API std::vector<Array> with_mesh_axes(const FlatFunction& function,
                                              std::span<const Array> inputs,
                                              ListOf<std::string> axes);

struct ShardMapOptions {
  Mesh mesh;
  // By leaf of the arguments and of the result; one stands for all leaves.
  std::vector<PartitionSpec> in_specs = {{}};
  std::vector<PartitionSpec> out_specs = {{}};
};

namespace detail {

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

// `function` as a function of whole arrays, of which each device gives it its part. A call raises
// INVALID_ARGUMENT for a mesh of more than the one device, for another number of specs than leaves,
// and for a spec that names an axis that the mesh does not have, or has more entries than its array
// has dimensions.
template <class F>
auto shard_map(F function, ShardMapOptions options) {
  return detail::ShardMapped<F>{std::move(function), std::move(options)};
}

}  // namespace farcall
