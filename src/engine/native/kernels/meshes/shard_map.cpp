#include "engine/native/kernels/meshes/shard_map.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/program/processes.h>
#include <farcall/program/text.h>
#include <farcall/program/walk.h>

#include "engine/native/engine.h"
#include "engine/native/mesh_run.h"

namespace farcall::native {
namespace {

struct ShardMap {
  std::shared_ptr<const Executable> body;
  std::vector<Partition> inputs, outputs;
  // Set if foreign code reads the operands: it may keep them after the run.
  bool copies_inputs = false;
  // Set if results may lie in the memory of operands that several places read: the results are
  // written when all places have ended.
  bool writes_last = false;
  Places places;
  // By output: the places of this process whose results are used, and whether the results of other
  // processes are fetched.
  std::vector<std::vector<size_t>> taken;
  std::vector<bool> is_completed;
  // With several processes: what they compare to check that all run the same program.
  uint64_t fingerprint = 0;
  std::string text, program;
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

void run_places(const ShardMap& map, const KernelCall& call) {
  std::vector<std::vector<Storage>> made(map.places.count);  // by place
  const auto write = [&](size_t number) {
    for (size_t i = 0; i < map.outputs.size(); ++i) {
      if (std::ranges::find(map.taken[i], number) == map.taken[i].end()) continue;
      map.outputs[i].put(number, made[number][i].data(), call.operands[map.inputs.size() + i]);
    }
    made[number].clear();
  };
  run_on_mesh(map.places, [&](size_t number) {
    std::vector<Storage> operands;
    std::vector<const Storage*> inputs;
    operands.reserve(map.inputs.size());  // no reallocation: pointers into it are kept
    for (size_t i = 0; i < map.inputs.size(); ++i) {
      inputs.push_back(&operands.emplace_back(
          shard_of(map.inputs[i], number, call.operands[i], map.copies_inputs)));
    }
    made[number].resize(map.outputs.size());
    map.body->execute(inputs, made[number], {.device_ordinal = static_cast<int32_t>(number)});
    if (!map.writes_last) write(number);
  });
  if (map.writes_last) std::ranges::for_each(map.places.own, write);
}

void run_shard_map(const KernelCall& call) {
  const auto& map = *static_cast<const ShardMap*>(call.data);
  if (map.places.processes.empty()) return run_places(map, call);
  Processes& job = processes_for("shard_map over several processes");
  job.agree(map.fingerprint, map.text, map.program);
  try {
    run_places(map, call);
    for (size_t i = 0; i < map.outputs.size(); ++i) {
      if (!map.is_completed[i]) continue;
      complete(map.outputs[i], map.places.processes, call.operands[map.inputs.size() + i]);
    }
  } catch (const std::exception& error) {
    job.fail(error.what());
    throw;
  } catch (...) {
    job.fail("an exception");
    throw;
  }
}

Places places_of(const ShardMapParams& params) {
  Places places;
  for (const auto& [name, size] : params.mesh) places.count *= static_cast<size_t>(size);
  places.process = host_device().description().process_index;
  if (!params.devices.empty()) {
    const Mesh mesh = sharding_of(params, {}).mesh;
    check_has_all_processes(mesh);
    places.processes = processes_of(mesh.devices());
  }
  for (size_t i = 0; i < places.count; ++i) {
    if (places.is_own(i)) places.own.push_back(i);
  }
  if (places.own.empty()) {
    throw Error(ErrorCode::kFailedPrecondition,
                fmt::format("shard_map: no device of its mesh belongs to this process ({})",
                            places.process));
  }
  return places;
}

// Whether both give every place the same elements.
bool are_alike(const Partition& a, const Partition& b) {
  if (a.whole() != b.whole() || a.shard() != b.shard()) return false;
  for (size_t i = 0; i < a.count(); ++i) {
    if (a.offset(i) != b.offset(i)) return false;
  }
  return true;
}

bool has_replicas(const Partition& partition) {
  for (size_t i = 0; i < partition.count(); ++i) {
    if (partition.first_alike(i) != i) return true;
  }
  return false;
}

// Callback numbers count up within each process, so processes compare texts without them.
std::string without_numbers(std::string text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (text[i] != '#') continue;
    while (i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1]))) ++i;
  }
  return result;
}

}  // namespace

NamedSharding sharding_of(const ShardMapParams& params, PartitionSpec spec) {
  std::vector<const Device*> devices;
  for (const int64_t id : params.devices) {
    const auto all = engine().devices();
    const auto found = std::ranges::find(
        all, id, [](const Device* device) { return int64_t{device->description().id}; });
    if (found == all.end()) {
      throw Error(ErrorCode::kFailedPrecondition,
                  fmt::format("shard_map: the program needs device {}, but the job has {} devices",
                              id, all.size()));
    }
    devices.push_back(*found);
  }
  return {Mesh(params.axes(), std::move(devices)), std::move(spec)};
}

std::shared_ptr<const Executable> compile_body(const ShardMapParams& params) {
  for_each_equation(*params.jaxpr, [](const Program&, const Equation& equation, size_t) {
    const auto* inner = try_params<ShardMapParams>(equation.params.get());
    if (!inner || inner->devices.empty()) return;
    throw Error(ErrorCode::kUnimplemented,
                "shard_map: a shard_map over several processes cannot be nested in another");
  });
  const std::vector<MeshAxis> axes = params.axes();
  const PlannedAxes planned(axes);
  return engine().compile(params.jaxpr, {});
}

Kernel make_shard_map(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype> outputs,
                      const ShardMapParams& params, std::shared_ptr<const Executable> body,
                      const std::vector<bool>& only_parts) {
  const std::vector<MeshAxis> axes = params.axes();
  auto map = std::make_shared<ShardMap>();
  map->body = std::move(body);
  map->places = places_of(params);
  for (size_t i = 0; i < inputs.size(); ++i) {
    map->inputs.emplace_back(inputs[i], params.in_specs[i], axes, "shard_map");
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Partition& whole =
        map->outputs.emplace_back(outputs[i], params.out_specs[i], axes, "shard_map");
    std::vector<size_t> met;  // the first place with the same elements, of each that is taken
    std::vector<size_t>& taken = map->taken.emplace_back();
    for (const size_t place : map->places.own) {
      const size_t first = whole.first_alike(place);
      if (std::ranges::find(met, first) != met.end()) continue;
      met.push_back(first);
      taken.push_back(place);
    }
    map->is_completed.push_back(!whole.is_replicated() && !only_parts[i]);
  }
  if (!params.devices.empty()) {
    std::string text = without_numbers(to_text(*params.jaxpr));
    for (const PartitionSpec& spec : params.in_specs) text += "\nin_spec " + to_string(spec);
    for (const PartitionSpec& spec : params.out_specs) text += "\nout_spec " + to_string(spec);
    map->fingerprint = std::hash<std::string>()(text);
    map->text =
        fmt::format("{} over {}", params.jaxpr->name, sharding_of(params, {}).mesh.to_string());
    map->program = std::move(text);
  }
  for_each_equation(*params.jaxpr, [&](const Program&, const Equation& equation, size_t) {
    map->copies_inputs |= equation.primitive->is_foreign();
  });
  // A place writes its shard of a result when it no longer reads its shards of the operands. Other
  // places read them in collectives only, which end when all have read.
  Kernel kernel{.run = run_shard_map, .data = map};
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    for (uint32_t j = 0; j < outputs.size(); ++j) {
      if (!are_alike(map->inputs[i], map->outputs[j])) continue;
      kernel.in_place.emplace_back(i, j);
      map->writes_last |= has_replicas(map->inputs[i]);
    }
  }
  return kernel;
}

}  // namespace farcall::native
