#include "engine/native/kernels/shard_map.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <farcall/program/walk.h>

#include "engine/native/engine.h"
#include "engine/native/mesh_run.h"

namespace farcall::native {
namespace {

struct ShardMap {
  std::shared_ptr<const Executable> body;
  std::vector<Partition> inputs, outputs;
  // Foreign code may keep its operands beyond the run.
  bool copies_inputs = false;
  size_t num_places = 1;
};

Storage shard_of(const Partition& partition, size_t number, void* whole, bool is_copied) {
  const size_t nbytes = partition.shard().nbytes();
  if (partition.is_contiguous() && !is_copied) {
    void* first = whole ? static_cast<std::byte*>(whole) + partition.offset(number) : nullptr;
    return Storage::adopt(first, nbytes, nullptr, nullptr);
  }
  Storage shard = Storage::allocate(nbytes);
  partition.cut(number, whole, shard.data());
  return shard;
}

void run_shard_map(const KernelCall& call) {
  const auto& map = *static_cast<const ShardMap*>(call.data);
  run_on_mesh(map.num_places, [&](size_t number) {
    std::vector<Storage> operands, results(map.outputs.size());
    std::vector<const Storage*> inputs;
    operands.reserve(map.inputs.size());  // addresses must stay
    for (size_t i = 0; i < map.inputs.size(); ++i) {
      inputs.push_back(&operands.emplace_back(
          shard_of(map.inputs[i], number, call.operands[i], map.copies_inputs)));
    }
    map.body->execute(inputs, results, {.device_ordinal = static_cast<int32_t>(number)});
    for (size_t i = 0; i < results.size(); ++i) {
      if (map.outputs[i].replica(number) > 0) continue;
      map.outputs[i].put(number, results[i].data(), call.operands[map.inputs.size() + i]);
    }
  });
}

}  // namespace

std::shared_ptr<const Executable> compile_body(const ShardMapParams& params) {
  const std::vector<MeshAxis> axes = params.axes();
  const PlannedAxes planned(axes);
  return engine().compile(params.jaxpr, {});
}

Kernel make_shard_map(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype> outputs,
                      const ShardMapParams& params, std::shared_ptr<const Executable> body) {
  const std::vector<MeshAxis> axes = params.axes();
  auto map = std::make_shared<ShardMap>();
  map->body = std::move(body);
  for (const MeshAxis& axis : axes) map->num_places *= static_cast<size_t>(axis.size);
  for (size_t i = 0; i < inputs.size(); ++i) {
    map->inputs.emplace_back(inputs[i], params.in_specs[i], axes, "shard_map");
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    map->outputs.emplace_back(outputs[i], params.out_specs[i], axes, "shard_map");
  }
  for_each_equation(*params.jaxpr, [&](const Program&, const Equation& equation, size_t) {
    map->copies_inputs |= equation.primitive->is_foreign();
  });
  return {.run = run_shard_map, .data = map};
}

}  // namespace farcall::native
