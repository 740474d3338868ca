// Programs for several devices: the computation of each device on its shards, in Shardy's dialect.
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/quote.h>
#include <farcall/primitives/shard_map.h>

#include "stablehlo/rules.h"
#include "stablehlo/undivided.h"

namespace farcall::stablehlo {
namespace {

// Values after those with a spec are replicated.
std::string shardings_text(std::span<const ShapeDtype> types,
                           std::span<const PartitionSpec> specs) {
  std::vector<std::string> all;
  for (size_t i = 0; i < types.size(); ++i) {
    all.push_back(sharding_text(types[i], i < specs.size() ? specs[i] : PartitionSpec()));
  }
  return fmt::format("#sdy.sharding_per_value<[{}]>", fmt::join(all, ", "));
}

}  // namespace

std::span<const MeshAxis> Emitter::free_axes() const {
  return options_.layout && !inner_ ? options_.layout->mesh.axes() : std::span<const MeshAxis>();
}

std::span<const MeshAxis> Emitter::bound_axes() const {
  return inner_ ? options_.layout->mesh.axes() : std::span<const MeshAxis>();
}

Values Emitter::on_all_devices(std::span<const Value> inputs, std::span<const ShapeDtype> results,
                               const Body& body) {
  if (free_axes().empty()) return body({inputs.begin(), inputs.end()});
  return on_each_device(inputs, std::vector<PartitionSpec>(inputs.size()), results, {}, body);
}

RelayPlace Emitter::relay_place() const {
  return options_.layout && !inner_ ? RelayPlace::kOnAll : RelayPlace::kOnEachDevice;
}

Values Emitter::on_each_device(std::span<const Value> inputs,
                               std::span<const PartitionSpec> in_specs,
                               std::span<const ShapeDtype> results,
                               std::span<const PartitionSpec> out_specs, const Body& body) {
  const std::span<const MeshAxis> axes = options_.layout->mesh.axes();
  std::string outer = std::exchange(text_, {});
  const Value outer_run = std::exchange(run_, {});
  inner_ = Inner{fmt::format("%inner{}", num_names_++), {}, {}};
  Values arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Partition partition(inputs[i].type, in_specs[i], axes, "shard_map");
    arguments.push_back({fresh(), partition.shard()});
  }
  Values outputs = body(arguments);
  const Value run_after = std::exchange(run_, {});
  const Value run_before = run_argument();
  const bool reads_run = !run_after.name.empty();
  const bool is_ordered = reads_run && run_after.name != run_before.name;
  if (is_ordered) outputs.push_back(run_after);
  op("sdy.return", outputs, std::span<const ShapeDtype>(), {});

  Values operands(inputs.begin(), inputs.end());
  for (const size_t number : inner_->hidden) operands.push_back(hidden_[number]);
  arguments.insert(arguments.end(), inner_->constants.begin(), inner_->constants.end());
  inner_.reset();
  run_ = outer_run;
  if (reads_run) {
    arguments.push_back(run_before);
    operands.push_back(run());
  }
  std::string header;
  for (const Value& argument : arguments) {
    header += fmt::format("{}{}: {}", header.empty() ? "" : ", ", argument.name,
                          type_text(argument.type));
  }
  if (!arguments.empty()) header = fmt::format("    ^bb0({}):\n", header);
  const std::string region = header + std::exchange(text_, std::move(outer));

  std::vector<ShapeDtype> types(results.begin(), results.end());
  if (is_ordered) types.push_back(run_before.type);
  std::vector<std::string> names;
  for (const MeshAxis& axis : axes) names.push_back(quoted(axis.name));
  Values values =
      op("sdy.manual_computation", operands, types,
         fmt::format("in_shardings = {}, out_shardings = {}, manual_axes = #sdy<manual_axes{{{}}}>",
                     shardings_text(types_of(operands), in_specs), shardings_text(types, out_specs),
                     fmt::join(names, ", ")),
         std::span(&region, 1));
  if (is_ordered) {
    set_run(values.back());
    values.pop_back();
  }
  return values;
}

Value undivided(Emitter& e, const Value& value, std::span<const int64_t> dimensions) {
  if (e.free_axes().empty() || dimensions.empty()) return value;
  std::vector<std::string_view> divisions(value.type.rank(), "{?}");
  for (const int64_t d : dimensions) divisions[static_cast<size_t>(d)] = "{}";
  return e.op("sdy.sharding_constraint", {value}, value.type,
              fmt::format("sharding = #sdy.sharding<@mesh, [{}]>", fmt::join(divisions, ", ")));
}

void add_meshes(Rules& rules) {
  rules["sharding_constraint"] = [](Emitter& e, const Call& call) -> Values {
    const auto& p = call.params<ShardingConstraintParams>();
    const bool is_of_mesh = !e.free_axes().empty() && !p.mesh.empty();
    if (!is_of_mesh || !has_axes(e.free_axes(), p.mesh)) return {call.inputs[0]};
    return {e.op("sdy.sharding_constraint", call.inputs, call.result(),
                 "sharding = #sdy.sharding" + sharding_text(call.result(), p.spec))};
  };
}

}  // namespace farcall::stablehlo
