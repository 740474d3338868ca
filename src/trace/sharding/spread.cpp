// How executables run on sharded inputs, and the shardings of their results. These decide where
// results are stored; values do not depend on them.
#include <algorithm>
#include <functional>
#include <mutex>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/lru_cache.h>
#include <farcall/trace/placement.h>

#include "trace/sharding/partition.h"
#include "trace/sharding/propagation.h"

namespace farcall {
namespace {

// The plans of an executable.
struct Plans {
  std::mutex mutex;
  LruCache<const SpreadPlan> all;
};

// The sharding of the first sharded input; null if there is none.
const NamedSharding* first_sharding(std::span<const Array> inputs) {
  for (const Array& input : inputs) {
    if (input.node().storage()) continue;
    if (const NamedSharding* sharding = sharding_of(input)) return sharding;
  }
  return nullptr;
}

// The spec of an input over this mesh.
const PartitionSpec& spec_on(const Mesh& mesh, const Array& input) {
  static const PartitionSpec whole;
  const NamedSharding* sharding = input.node().storage() ? nullptr : sharding_of(input);
  return sharding && sharding->mesh == mesh ? sharding->spec : whole;
}

// Copies of a mesh share its list of devices.
size_t hash_of(const Mesh& mesh, std::span<const Array> inputs) {
  size_t hash = std::hash<const void*>()(mesh.devices().data());
  for (const Array& input : inputs) {
    for (const auto& axes : spec_on(mesh, input)) {
      for (const std::string& axis : axes) hash = hash * 31 + std::hash<std::string>()(axis);
      hash = hash * 31 + axes.size();
    }
    hash = hash * 31 + 1;
  }
  return hash;
}

SpreadPlanPtr make_plan(const Executable& executable, const Device& device, const Mesh& mesh,
                        std::span<const Array> inputs, bool is_home_one_device) {
  auto plan = std::make_shared<SpreadPlan>();
  plan->mesh = mesh;
  plan->device = &device;
  plan->is_home_one_device = is_home_one_device;
  for (const Array& input : inputs) plan->specs.push_back(spec_on(mesh, input));
  plan->divided = partitioned(executable, device, mesh, plan->specs);
  if (plan->runs_on_mesh()) {
    const MeshLayout& layout = *plan->divided->layout;
    for (size_t i = 0; i < inputs.size(); ++i) {
      plan->inputs.push_back(make_placement(inputs[i].type(), {layout.mesh, layout.inputs[i]}));
    }
    return plan;
  }
  if (plan->is_home_one_device) return plan;
  const std::vector<ShapeDtype> types = executable.program().output_types();
  for (size_t i = 0; i < types.size(); ++i) {
    plan->results.push_back(make_placement(types[i], {mesh, plan->divided->results[i]}));
  }
  return plan;
}

// The home of a program that has one, if the inputs leave the choice to it; empty otherwise.
Mesh home_for(const Executable& executable, std::span<const Array> inputs, bool is_committed) {
  Mesh home = home_of(executable.program());
  const auto committed = std::ranges::find_if(inputs, farcall::is_committed);
  if (committed == inputs.end()) return is_committed ? Mesh() : home;
  const Device& place = device_of(*committed);
  if (home.devices().size() == 1 && home.devices()[0] != &place) {
    invalid_argument(
        fmt::format("{}: the program runs on {}, which a sharding in it names, but operand "
                    "{} is committed to {}. Move it with device_put",
                    executable.program().name, home.devices()[0]->to_string(),
                    &*committed - inputs.data(), place.to_string()));
  }
  return {};
}

// The device of the home for which its programs are compiled.
const Device& device_in(const Mesh& home, const Device& wanted) {
  return std::ranges::find(home.devices(), &wanted) != home.devices().end() ? wanted
                                                                            : *home.devices()[0];
}

}  // namespace

bool has_home(const Executable& executable) {
  return has_other_devices() && !home_of(executable.program()).devices().empty();
}

SpreadPlanPtr plan_spread(const Executable& executable, std::span<const Array> inputs,
                          bool is_committed) {
  const NamedSharding* const first = first_sharding(inputs);
  if (!first && !has_home(executable)) return nullptr;
  const Device* device = &executable.device();
  Mesh mesh;
  bool is_home_one_device = false;
  if (first) {
    mesh = first->mesh;
  } else {
    mesh = home_for(executable, inputs, is_committed);
    if (mesh.devices().empty()) return nullptr;
    device = &device_in(mesh, *device);
    is_home_one_device = mesh.devices().size() == 1;
  }
  const auto plans = executable.derived().find_or_make<std::shared_ptr<Plans>>(
      "spread plans", {}, [] { return std::make_shared<Plans>(); });
  const size_t hash = hash_of(mesh, inputs);
  const auto is_wanted = [&](const SpreadPlan& plan) {
    if (plan.device != device || plan.is_home_one_device != is_home_one_device) return false;
    if (plan.specs.size() != inputs.size() || !(plan.mesh == mesh)) {
      return false;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (plan.specs[i] != spec_on(mesh, inputs[i])) return false;
    }
    return true;
  };
  {
    const std::lock_guard lock(plans->mutex);
    if (SpreadPlanPtr found = plans->all.find(hash, is_wanted)) return found;
  }
  SpreadPlanPtr made = make_plan(executable, *device, mesh, inputs, is_home_one_device);
  std::vector<SpreadPlanPtr> dying;
  const std::lock_guard lock(plans->mutex);
  dying = plans->all.insert(hash, made);
  return made;
}

void spread_results(const SpreadPlan& plan, std::span<Array> results) {
  if (plan.is_home_one_device) return;
  for (size_t i = 0; i < results.size(); ++i) {
    if (const NamedSharding* made = sharding_of(results[i])) {
      // Computed with a sharding of the executable: replace its mesh by the user's mesh if both
      // place elements alike.
      const NamedSharding known{plan.mesh, made->spec};
      if (places_alike(*made, known)) results[i] = spread_result(results[i], known);
      continue;
    }
    results[i] = spread_result(results[i], plan.results[i]);
  }
}

}  // namespace farcall
