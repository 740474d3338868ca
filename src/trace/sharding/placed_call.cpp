#include "trace/sharding/placed_call.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/primitives/primitives.h>
#include <farcall/primitives/shard_map.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/placement.h>

namespace farcall {

Shardings spread_shardings(const Shardings& given, std::span<const ShapeDtype> types,
                           const std::string& what,
                           const std::function<std::string(size_t)>& name_of) {
  if (given.empty()) return {};
  Shardings spread = given.size() == 1 ? Shardings(types.size(), given[0]) : given;
  if (spread.size() != types.size()) {
    invalid_argument(
        fmt::format("{} has {} shardings for {} arrays; give one for each, or one for all", what,
                    spread.size(), types.size()));
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (!spread[i]) continue;
    const Partition checked(types[i], spread[i]->spec, spread[i]->mesh.axes(),
                            fmt::format("{}: {}", what, name_of(i)));
  }
  return spread;
}

Shardings shardings_of(std::span<const Array> arrays) {
  Shardings all(arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    const NamedSharding* sharding = arrays[i].is_concrete() ? sharding_of(arrays[i]) : nullptr;
    if (sharding) all[i] = *sharding;
  }
  if (std::ranges::none_of(all, &std::optional<NamedSharding>::has_value)) all.clear();
  return all;
}

std::vector<Array> place_inputs(std::span<const Array> inputs, const Shardings& in_shardings,
                                const Shardings& out_shardings) {
  std::vector<Array> placed(inputs.begin(), inputs.end());
  const auto wanted = std::ranges::find_if(out_shardings, &std::optional<NamedSharding>::has_value);
  for (size_t i = 0; i < placed.size(); ++i) {
    if (i < in_shardings.size() && in_shardings[i]) {
      placed[i] = device_put(placed[i], *in_shardings[i]);
    } else if (wanted != out_shardings.end() && !is_committed(placed[i])) {
      placed[i] = spread_result(placed[i], {(*wanted)->mesh, {}});
    }
  }
  return placed;
}

std::vector<Array> place_results(std::vector<Array> results, const Shardings& out_shardings) {
  for (size_t i = 0; i < out_shardings.size(); ++i) {
    if (out_shardings[i]) results[i] = device_put(results[i], *out_shardings[i]);
  }
  return results;
}

std::vector<Array> constrain_results(std::vector<Array> results, const Shardings& out_shardings) {
  for (size_t i = 0; i < out_shardings.size(); ++i) {
    if (!out_shardings[i] || results[i].is_concrete()) continue;
    ShardingConstraintParams params{{}, out_shardings[i]->spec, out_shardings[i]->mesh};
    for (const MeshAxis& axis : out_shardings[i]->mesh.axes()) {
      params.mesh.emplace_back(axis.name, axis.size);
    }
    results[i] =
        bind_primitive(kShardingConstraint, make_params(std::move(params)), {&results[i], 1})[0];
  }
  return results;
}

}  // namespace farcall
