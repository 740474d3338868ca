// Parameters of primitives that refer to meshes of devices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <farcall/program/params.h>
#include <farcall/program/program.h>
#include <farcall/program/sharding.h>

namespace farcall {

inline std::vector<MeshAxis> axes_of_mesh(
    const std::vector<std::pair<std::string, int64_t>>& mesh) {
  std::vector<MeshAxis> axes;
  for (const auto& [name, size] : mesh) axes.push_back({name, size});
  return axes;
}
// Whether `axes` contains all of `wanted`, with the same names and sizes.
inline bool has_axes(std::span<const MeshAxis> axes,
                     const std::vector<std::pair<std::string, int64_t>>& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& one) {
    return std::ranges::any_of(axes, [&](const MeshAxis& axis) {
      return axis.name == one.first && axis.size == one.second;
    });
  });
}

// shard_map: runs `jaxpr` once for each place of the grid of these axes, on its shards of the
// operands. Operands and results are whole arrays; `in_specs` and `out_specs` say how each operand
// is split and each result is assembled. Collectives in the program may refer to the axes.
struct ShardMapParams {
  // For meshes over several processes: the ids of the devices (Device::Description::id), row-major.
  // Empty if all devices belong to this process.
  std::vector<int64_t> devices;
  ProgramPtr jaxpr;
  std::vector<std::pair<std::string, int64_t>> mesh;
  std::vector<PartitionSpec> in_specs, out_specs;
  // The mesh of the function that was recorded, which is no part of the program: where a jitted
  // function runs if none of its arguments is on a mesh. Empty in programs from text.
  Mesh home = {};
  static constexpr auto fields() {
    return std::tuple(field("devices", &ShardMapParams::devices),
                      field("in_specs", &ShardMapParams::in_specs),
                      field("jaxpr", &ShardMapParams::jaxpr), field("mesh", &ShardMapParams::mesh),
                      field("out_specs", &ShardMapParams::out_specs));
  }
  std::vector<MeshAxis> axes() const { return axes_of_mesh(mesh); }
};

// sharding_constraint: returns its operand with this sharding over a mesh of these axes.
struct ShardingConstraintParams {
  std::vector<std::pair<std::string, int64_t>> mesh;
  PartitionSpec spec;
  Mesh home = {};  // as for shard_map
  static constexpr auto fields() {
    return std::tuple(field("mesh", &ShardingConstraintParams::mesh),
                      field("spec", &ShardingConstraintParams::spec));
  }
  std::vector<MeshAxis> axes() const { return axes_of_mesh(mesh); }
};

}  // namespace farcall
