// Parameters of primitives that refer to meshes of devices.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <farcall/program/params.h>
#include <farcall/program/program.h>
#include <farcall/program/sharding.h>

namespace farcall {

// shard_map: runs `jaxpr` once for each place of a grid of these axes, on its shards of the
// operands. Operands and results are whole arrays; `in_specs` and `out_specs`, one for each, say
// how they are cut and put together. Collectives in the program know the axes.
struct ShardMapParams {
  // Over several processes the numbers of the devices (Device::Description::id), row-major; empty
  // where all are this process's.
  std::vector<int64_t> devices;
  ProgramPtr jaxpr;
  std::vector<std::pair<std::string, int64_t>> mesh;
  std::vector<PartitionSpec> in_specs, out_specs;
  static constexpr auto fields() {
    return std::tuple(field("devices", &ShardMapParams::devices),
                      field("in_specs", &ShardMapParams::in_specs),
                      field("jaxpr", &ShardMapParams::jaxpr), field("mesh", &ShardMapParams::mesh),
                      field("out_specs", &ShardMapParams::out_specs));
  }
  std::vector<MeshAxis> axes() const {
    std::vector<MeshAxis> result;
    for (const auto& [name, size] : mesh) result.push_back({name, size});
    return result;
  }
};

}  // namespace farcall
