#include "ops/sharding/batched_spec.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>

namespace farcall {
namespace {

int64_t size_of_axis(const std::string& name, std::span<const MeshAxis> axes) {
  const auto axis = std::ranges::find(axes, name, &MeshAxis::name);
  if (axis != axes.end()) return axis->size;
  std::vector<std::string> names;
  for (const MeshAxis& one : axes) names.push_back(one.name);
  invalid_argument(fmt::format(
      "vmap: spmd_axis_name \"{}\" must be an axis of the mesh of each sharding constraint and "
      "shard_map inside; the axes of one are {}",
      name, fmt::join(names, ", ")));
}

}  // namespace

PartitionSpec batched_spec(PartitionSpec spec, int64_t where, const BatchAxis& batch,
                           std::span<const MeshAxis> axes) {
  if (where == kNotBatched) return spec;
  for (const std::string& name : batch.spmd_names) {
    size_of_axis(name, axes);
    const auto names_it = [&](const std::vector<std::string>& entry) {
      return std::ranges::find(entry, name) != entry.end();
    };
    if (std::ranges::none_of(spec, names_it)) continue;
    invalid_argument(fmt::format(
        "vmap: spmd_axis_name \"{}\" splits the mapped dimension, so the spec {} inside must not "
        "name it",
        name, to_string(spec)));
  }
  const auto dimension = static_cast<size_t>(where);
  if (dimension >= spec.size()) {
    if (batch.spmd_names.empty()) return spec;
    spec.resize(dimension);
  }
  spec.insert(spec.begin() + where, batch.spmd_names);
  return spec;
}

BatchAxis batch_axis_of_shard(const BatchAxis& batch, std::span<const MeshAxis> axes) {
  int64_t parts = 1;
  for (const std::string& name : batch.spmd_names) parts *= size_of_axis(name, axes);
  if (batch.size % parts != 0) {
    invalid_argument(fmt::format(
        "vmap: spmd_axis_name {} splits the mapped dimension into {} parts, but its size is {}",
        fmt::join(batch.spmd_names, ", "), parts, batch.size));
  }
  return {batch.size / parts, batch.name};
}

}  // namespace farcall
