#include <farcall/trace/lowered.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/program/text.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/placement.h>

#include "trace/calls/device_names.h"
#include "trace/sharding/placed_call.h"
#include "trace/sharding/propagation.h"

namespace farcall {
namespace detail {

ArgumentPlace place_over(NamedSharding sharding) {
  const auto devices = sharding.mesh.devices();
  return {{devices.begin(), devices.end()}, std::move(sharding)};
}

ArgumentPlace place_of(const Array& argument) {
  if (!argument.is_concrete() || !is_committed(argument)) return {};
  const NamedSharding* sharding = sharding_of(argument);
  return sharding ? place_over(*sharding) : ArgumentPlace{{&device_of(argument)}};
}

void LoweredCall::place(Shardings requested, std::vector<ArgumentPlace> places,
                        const std::function<std::string(size_t leaf)>& name_of) {
  in_shardings = std::move(requested);
  bool is_spread = false;
  const std::vector<const Device*>* common = nullptr;
  size_t first = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    ArgumentPlace& place = places[i];
    if (i < in_shardings.size() && in_shardings[i]) place = place_over(*in_shardings[i]);
    is_spread = is_spread || place.sharding;
    if (place.devices.empty()) continue;
    std::ranges::sort(place.devices, {}, &Device::number);
    if (!common) {
      common = &place.devices;
      first = i;
    } else if (!device && *common != place.devices) {
      invalid_argument(fmt::format(
          "{}: lower: the arguments are on different devices: {} on {}, {} on {}", where,
          name_of(first), device_names(*common), name_of(i), device_names(place.devices)));
    }
  }
  if (is_spread) {
    for (ArgumentPlace& place : places) shardings.push_back(std::move(place.sharding));
  }
  if (!device && common && common->size() == 1) device = common->front();
}

std::shared_ptr<const Executable> LoweredCall::compile() const {
  const Device* wanted = device;
  for (const auto& sharding : input_shardings()) {
    if (wanted || !sharding) break;
    wanted = *std::ranges::find_if(sharding->mesh.devices(), &Device::is_addressable);
  }
  if (const Mesh home = home_of(*program); !wanted && !home.devices().empty()) {
    wanted = home.devices()[0];
  }
  return farcall::compile(program, *place_of_call(where, {}, wanted).device, donated);
}

Shardings LoweredCall::wanted_inputs() const {
  Shardings all = shardings;
  all.resize(program->inputs.size());
  for (size_t i = 0; i < in_shardings.size(); ++i) {
    if (in_shardings[i]) all[i] = in_shardings[i];
  }
  return all;
}

Shardings LoweredCall::input_shardings() const {
  Shardings all = wanted_inputs();
  Mesh mesh;
  if (Mesh home = home_of(*program); !device && home.devices().size() > 1) mesh = std::move(home);
  for (const Shardings& given : {out_shardings, all}) {
    const auto first = std::ranges::find_if(given, &std::optional<NamedSharding>::has_value);
    if (first != given.end()) mesh = (*first)->mesh;
  }
  if (mesh.devices().empty()) return all;
  for (auto& sharding : all) {
    if (!sharding) sharding = NamedSharding{mesh, {}};
  }
  return all;
}

Shardings LoweredCall::output_shardings(const std::shared_ptr<const Executable>& executable) const {
  Shardings all = divided(executable).results;
  all.resize(executable->output_types().size());
  for (size_t i = 0; i < out_shardings.size(); ++i) {
    if (out_shardings[i]) all[i] = out_shardings[i];
  }
  return all;
}

DividedRun LoweredCall::divided(const std::shared_ptr<const Executable>& executable) const {
  return divided_run(executable, input_shardings());
}

std::vector<Array> LoweredCall::run(const Executable& executable, const TreeDef& tree,
                                    std::span<const Array> leaves,
                                    const std::function<std::string(size_t)>& name_of) const {
  if (!(tree == arguments)) {
    throw TypeError(fmt::format("compiled {}: it takes arguments of structure {}, got {}", where,
                                arguments.to_string(), tree.to_string()));
  }
  const auto types = executable.input_types();
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].type().strengthened() == types[i].strengthened()) continue;
    throw TypeError(fmt::format("compiled {}: {} should be {}, got {}", where, name_of(i),
                                types[i].to_string(), leaves[i].type().to_string()));
  }
  const bool is_committed = place_of_call(where, {}, device).is_committed;
  if (!is_placed()) return run_donating(executable, leaves, is_committed);
  const std::vector<Array> placed = place_inputs(leaves, wanted_inputs(), out_shardings);
  return place_results(run_donating(executable, placed, is_committed), out_shardings);
}

}  // namespace detail

std::string LoweredProgram::as_text() const { return to_text(*call_.program); }

}  // namespace farcall
