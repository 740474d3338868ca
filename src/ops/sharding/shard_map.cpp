#include <farcall/ops/shard_map.h>

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/sizes.h>
#include <farcall/ops/collectives.h>
#include <farcall/ops/lax.h>
#include <farcall/primitives/shard_map.h>
#include <farcall/program/mesh_engine.h>
#include <farcall/program/verify.h>
#include <farcall/trace/derive.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/placement.h>
#include <farcall/trace/rules.h>

#include "ops/internal/register.h"
#include "ops/internal/rules.h"
#include "ops/internal/type_rules.h"
#include "ops/sharding/batched_spec.h"
#include "ops/sharding/without_tracking.h"
#include "trace/internal/axis_sets.h"
#include "trace/internal/axis_tracking.h"
#include "trace/internal/named_axis.h"

namespace farcall {
namespace {

using Specs = std::vector<PartitionSpec>;

// Binds the axes while a body is recorded or transformed.
class AxesScope {
 public:
  explicit AxesScope(std::span<const MeshAxis> axes) {
    axes_.reserve(axes.size());  // NamedAxis refers to its axis, so axes_ must not reallocate
    for (const MeshAxis& axis : axes) {
      axes_.push_back({axis.size, axis.name});
      named_.push_back(std::make_unique<NamedAxis>(axes_.back()));
    }
  }

 private:
  std::vector<BatchAxis> axes_;
  std::vector<std::unique_ptr<NamedAxis>> named_;
};

// ---- the primitive ----

// The type of the whole array for this type of shard.
ShapeDtype whole_of(ShapeDtype shard, const PartitionSpec& spec, std::span<const MeshAxis> axes,
                    std::string_view what) {
  const Partition checked(shard, {}, axes, what);  // checks the axes
  if (!shard.is_token() && spec.size() <= shard.rank()) {
    Shape shape(shard.shape().begin(), shard.shape().end());
    for (size_t i = 0; i < spec.size(); ++i) {
      for (const std::string& name : spec[i]) {
        const auto axis = std::ranges::find(axes, name, &MeshAxis::name);
        if (axis != axes.end()) shape[i] = saturated_product(shape[i], axis->size);
      }
    }
    shard = shard.with_shape(shape);
  }
  return Partition(shard, spec, axes, what).whole();
}

std::vector<ShapeDtype> shard_map_rule(std::span<const ShapeDtype> inputs, const Params* params) {
  const auto& p = params_as<ShardMapParams>(params);
  check_operand_count(inputs, p.in_specs.size());
  if (p.mesh.empty()) invalid_argument("the mesh has no axes");
  const std::vector<MeshAxis> axes = p.axes();
  const size_t num_places = Partition(ShapeDtype(DType::kBool, {}), {}, axes, "mesh").count();
  if (!p.devices.empty() && p.devices.size() != num_places) {
    invalid_argument(
        fmt::format("the mesh has {} places, and devices has {}", num_places, p.devices.size()));
  }
  std::vector<ShapeDtype> shards, results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    shards.push_back(
        Partition(inputs[i], p.in_specs[i], axes, fmt::format("operand {}", i)).shard());
  }
  check_operands(*p.jaxpr, shards);
  const std::vector<ShapeDtype> outputs = p.jaxpr->output_types();
  if (outputs.size() != p.out_specs.size()) {
    invalid_argument(
        fmt::format("out_specs has {} specs for {} results", p.out_specs.size(), outputs.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    results.push_back(whole_of(outputs[i], p.out_specs[i], axes, fmt::format("result {}", i)));
  }
  return results;
}

Effects shard_map_effects(const Params* params) {
  return params_as<ShardMapParams>(params).jaxpr->effects();
}

Cost shard_map_cost(const Params* params) {
  const auto& p = params_as<ShardMapParams>(params);
  Cost cost = p.jaxpr->cost();
  for (const auto& [name, size] : p.mesh) {
    cost.flops = saturated_product(cost.flops, size);
    cost.bytes = saturated_product(cost.bytes, size);
  }
  return cost;
}

std::vector<std::string> shard_map_axis_names(const Params* params) {
  const auto& p = params_as<ShardMapParams>(params);
  std::vector<std::string> names;
  for (const std::string& name : p.jaxpr->axis_names) {
    const auto is_bound = [&](const auto& axis) { return axis.first == name; };
    if (std::ranges::none_of(p.mesh, is_bound)) names.push_back(name);
  }
  return names;
}

extern const Primitive kShardMap;

std::vector<Array> bind_shard_map(ShardMapParams params, std::span<const Array> operands) {
  return bind_primitive(kShardMap, make_params(std::move(params)), operands);
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

Specs selected(const Specs& specs, const std::vector<bool>& flags, bool wanted = true) {
  return select<PartitionSpec>(specs, flags, wanted);
}

// The axes that a spec does not name, and the product of their sizes.
struct Missing {
  std::vector<std::string> names;
  int64_t size = 1;
};
Missing missing_axes(const PartitionSpec& spec, const ShardMapParams& params) {
  Missing missing;
  for (const auto& [name, size] : params.mesh) {
    const auto has_name = [&, &wanted = name](const std::vector<std::string>& entry) {
      return std::ranges::find(entry, wanted) != entry.end();
    };
    if (std::ranges::any_of(spec, has_name)) continue;
    missing.names.push_back(name);
    missing.size *= size;
  }
  return missing;
}

// ---- forward mode ----

JvpResults shard_map_jvp(const JvpCall& call) {
  const auto& p = params_as<ShardMapParams>(call.params.get());
  const AxesScope scope(p.axes());
  const std::vector<bool> varies = present(call.tangents);
  const ProgramJvp derived = jvp_program(p.jaxpr, varies);
  ShardMapParams params = p;
  params.jaxpr = derived.program;
  append(params.in_specs, selected(p.in_specs, varies));
  append(params.out_specs, selected(p.out_specs, derived.varies));
  std::vector<Array> operands(call.primals.begin(), call.primals.end());
  append(operands, select(call.tangents, varies));
  const std::vector<Array> found = bind_shard_map(std::move(params), operands);
  const auto count = static_cast<int64_t>(p.out_specs.size());
  return {{found.begin(), found.begin() + count},
          scatter_arrays(derived.varies, std::span(found).subspan(p.out_specs.size()))};
}

// ---- batching ----

BatchResults shard_map_batch(const BatchCall& call) {
  const auto& p = params_as<ShardMapParams>(call.params.get());
  const std::vector<MeshAxis> axes = p.axes();
  const AxesScope scope(axes);
  const ProgramBatch derived = batch_program(p.jaxpr, batch_axis_of_shard(call.axis, axes),
                                             {call.axes.begin(), call.axes.end()});
  ShardMapParams params = p;
  params.jaxpr = derived.program;
  for (size_t i = 0; i < call.axes.size(); ++i) {
    params.in_specs[i] = batched_spec(p.in_specs[i], call.axes[i], call.axis, axes);
  }
  BatchResults results;
  for (size_t i = 0; i < derived.is_batched.size(); ++i) {
    results.axes.push_back(derived.is_batched[i] ? 0 : kNotBatched);
    params.out_specs[i] = batched_spec(p.out_specs[i], results.axes[i], call.axis, axes);
  }
  results.outputs = bind_shard_map(std::move(params), call.inputs);
  return results;
}

// ---- partial evaluation ----

Array with_leading_one(const Array& x) {
  Shape shape(x.shape().begin(), x.shape().end());
  shape.insert(shape.begin(), 1);
  return lax::reshape(x, shape);
}

// Residuals differ between devices. Outside of the shard_map they are one array, stacked along a
// new leading dimension; inside, this dimension has size 1.
ProgramPtr with_stacked_residuals(const ProgramPartialEval& split) {
  return split.known->derived.find_or_make<ProgramPtr>(
      "stacked residuals", {static_cast<int64_t>(split.num_residuals)}, [&] {
        return record(
            [&](std::span<const Array> inputs) {
              std::vector<Array> outputs = evaluate(*split.known, inputs);
              for (size_t i = outputs.size() - split.num_residuals; i < outputs.size(); ++i) {
                outputs[i] = with_leading_one(outputs[i]);
              }
              return outputs;
            },
            split.known->input_types(), split.known->name);
      });
}
ProgramPtr from_stacked_residuals(const ProgramPartialEval& split) {
  return split.unknown->derived.find_or_make<ProgramPtr>(
      "stacked residuals", {static_cast<int64_t>(split.num_residuals)}, [&] {
        std::vector<ShapeDtype> types = split.unknown->input_types();
        for (size_t i = 0; i < split.num_residuals; ++i) {
          Shape shape(types[i].shape().begin(), types[i].shape().end());
          shape.insert(shape.begin(), 1);
          types[i] = types[i].with_shape(shape);
        }
        return record(
            [&](std::span<const Array> given) {
              std::vector<Array> inputs(given.begin(), given.end());
              for (size_t i = 0; i < split.num_residuals; ++i) {
                inputs[i] = lax::squeeze(inputs[i], {0});
              }
              return evaluate(*split.unknown, inputs);
            },
            types, split.unknown->name);
      });
}

std::vector<Array> shard_map_partial(const PartialCall& call) {
  const auto& p = params_as<ShardMapParams>(call.params.get());
  const AxesScope scope(p.axes());
  const ProgramPartialEval split = partial_eval_program(p.jaxpr, call.is_unknown);
  PartitionSpec all_axes(1);
  for (const auto& [name, size] : p.mesh) all_axes[0].push_back(name);
  const Specs residuals(split.num_residuals, all_axes);
  ShardMapParams known{p.devices,
                       with_stacked_residuals(split),
                       p.mesh,
                       selected(p.in_specs, call.is_unknown, /*wanted=*/false),
                       selected(p.out_specs, split.is_unknown, /*wanted=*/false),
                       p.home};
  append(known.out_specs, residuals);
  const std::vector<Array> found =
      bind_shard_map(std::move(known), select(call.inputs, call.is_unknown, /*wanted=*/false));
  const size_t num_known = found.size() - split.num_residuals;
  ShardMapParams unknown{p.devices, from_stacked_residuals(split),           p.mesh,
                         residuals, selected(p.out_specs, split.is_unknown), p.home};
  append(unknown.in_specs, selected(p.in_specs, call.is_unknown));
  std::vector<Array> operands(found.begin() + static_cast<int64_t>(num_known), found.end());
  append(operands, select(call.inputs, call.is_unknown));
  const std::vector<Array> rest =
      call.recorder.process(kShardMap, make_params(std::move(unknown)), operands);
  return merge<Array>(split.is_unknown, rest, std::span(found).first(num_known));
}

// ---- transposition ----

// If the spec of a result does not name some axes, each device along them gets an equal share of
// the cotangent. If the spec of an operand does not name some axes, its cotangents are summed over
// them.
ProgramPtr with_shares(const ProgramTranspose& derived, const ShardMapParams& p, size_t num_known,
                       const Specs& cotangents, const Specs& results) {
  std::string kind = "shares";
  for (const auto& [name, size] : p.mesh) kind += fmt::format(" {}:{}", name, size);
  for (const PartitionSpec& spec : cotangents) kind += ' ' + to_string(spec);
  for (const PartitionSpec& spec : results) kind += " -> " + to_string(spec);
  const auto with = [&](std::span<const Array> given) {
    std::vector<Array> inputs(given.begin(), given.end());
    for (size_t i = 0; i < cotangents.size(); ++i) {
      Array& cotangent = inputs[num_known + i];
      const int64_t size = missing_axes(cotangents[i], p).size;
      if (size > 1) {
        cotangent = lax::div(cotangent, scalar_of(cotangent.dtype(), static_cast<double>(size)));
      }
    }
    std::vector<Array> outputs = evaluate(*derived.program, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Missing missing = missing_axes(results[i], p);
      if (missing.size > 1) outputs[i] = lax::psum(outputs[i], missing.names);
    }
    return outputs;
  };
  return derived.program->derived.find_or_make<ProgramPtr>(
      kind, {static_cast<int64_t>(num_known)},
      [&] { return record(with, derived.program->input_types(), derived.program->name); });
}

std::vector<Array> shard_map_transpose(const TransposeCall& call) {
  const auto& p = params_as<ShardMapParams>(call.params.get());
  const AxesScope scope(p.axes());
  std::vector<bool> is_linear = present(call.inputs);
  is_linear.flip();
  const std::vector<bool> has_cotangent = present(call.cotangents);
  const ProgramTranspose derived = transpose_program(p.jaxpr, is_linear, has_cotangent);
  const Specs known = selected(p.in_specs, is_linear, /*wanted=*/false);
  const Specs cotangents = selected(p.out_specs, has_cotangent);
  ShardMapParams params{
      p.devices, nullptr, p.mesh, known, selected(p.in_specs, derived.has_cotangent), p.home};
  append(params.in_specs, cotangents);
  params.jaxpr = with_shares(derived, p, known.size(), cotangents, params.out_specs);
  std::vector<Array> operands = select<Array>(call.inputs, is_linear, /*wanted=*/false);
  append(operands, select<Array>(call.cotangents, has_cotangent));
  return scatter_arrays(derived.has_cotangent, bind_shard_map(std::move(params), operands));
}

const TransformRules kShardMapRules = {.jvp = shard_map_jvp,
                                       .transpose = shard_map_transpose,
                                       .batch = shard_map_batch,
                                       .partial_eval = shard_map_partial};
const Primitive kShardMap = {.name = "shard_map",
                             .type_rule = shard_map_rule,
                             .parse = parse_params<ShardMapParams>,
                             .effects = shard_map_effects,
                             .rules = &kShardMapRules,
                             .cost = shard_map_cost,
                             .axis_names = shard_map_axis_names};
FARCALL_REGISTER_PRIMITIVE(kShardMap);

// ---- the function ----

// The axes of the mesh that are bound.
std::vector<MeshAxis> bound_axes(const std::string& where, const ShardMapOptions& options) {
  const std::span<const MeshAxis> all = options.mesh.axes();
  if (all.empty()) invalid_argument(where + ": the mesh has no axes");
  for (const std::string& name : options.axis_names) {
    if (std::ranges::find(all, name, &MeshAxis::name) == all.end()) {
      invalid_argument(fmt::format("{}: axis_names has \"{}\", which {} does not have", where, name,
                                   options.mesh.to_string()));
    }
  }
  std::vector<MeshAxis> bound;
  for (const MeshAxis& axis : all) {
    const auto& names = options.axis_names;
    if (names.empty() || std::ranges::find(names, axis.name) != names.end()) bound.push_back(axis);
  }
  return bound;
}

// The ids of the mesh's devices if they belong to several processes; otherwise empty.
std::vector<int64_t> shared_devices(const std::string& where, const ShardMapOptions& options,
                                    std::span<const MeshAxis> bound) {
  const auto devices = options.mesh.devices();
  if (std::ranges::all_of(devices, &Device::is_addressable)) return {};
  if (bound.size() != options.mesh.axes().size()) {
    invalid_argument(where + ": axis_names must be all axes of a mesh over several processes");
  }
  if (std::ranges::none_of(devices, &Device::is_addressable)) {
    invalid_argument(fmt::format("{}: no device of {} belongs to this process ({})", where,
                                 options.mesh.to_string(),
                                 host_device().description().process_index));
  }
  std::vector<int64_t> numbers;
  for (const Device* device : devices) numbers.push_back(device->description().id);
  return numbers;
}

void check_replication(const std::string& where, const ShardMapParams& params,
                       const detail::LeafCall& call) {
  const std::vector<MeshAxis> axes = params.axes();
  const std::vector<AxisSet> varies = differing_axes(*params.jaxpr, axes, params.in_specs);
  for (size_t i = 0; i < varies.size(); ++i) {
    const AxisSet wrong = varies[i] & ~axes_of(params.out_specs[i], axes);
    for (size_t j = 0; j < axes.size(); ++j) {
      if (!(wrong >> j & 1) || axes[j].size == 1) continue;
      invalid_argument(fmt::format(
          "{}: the spec {} of {} leaves out axis \"{}\", along which the result may differ. Reduce "
          "it over that axis (psum, pmean), name the axis in the spec, or leave the check out with "
          "check_vma=False (check_replication in C++)",
          where, to_string(params.out_specs[i]), call.result_name(i), axes[j].name));
    }
  }
}

std::vector<std::string> names_of(std::span<const MeshAxis> axes) {
  std::vector<std::string> names;
  for (const MeshAxis& axis : axes) names.push_back(axis.name);
  return names;
}

// Records the function. With the check, the axes are tracked: an argument varies over those of its
// spec.
Recording record_body(detail::LeafCall& call, const ShardMapOptions& options,
                      std::span<const MeshAxis> axes, std::span<const ShapeDtype> shards) {
  const AxesScope scope(axes);
  if (!options.check_replication) {
    return record_closure(call.as_function(), shards, "shard_map");
  }
  const AxisTracking tracking(names_of(axes));
  AxisSets sets = std::vector<AxisSet>(shards.size(), 0);
  for (size_t i = 0; i < sets->size(); ++i) {
    for (const auto& entry : options.in_specs[i]) (*sets)[i] |= tracked_axes(entry);
  }
  return record_closure(call.as_function(), shards, sets, "shard_map");
}

}  // namespace

namespace detail {

std::vector<Array> call_shard_map(LeafCall& call, const ShardMapOptions& options,
                                  const std::function<Specs()>& out_specs) {
  const std::vector<MeshAxis> axes = bound_axes(call.where(), options);
  ShardMapParams params;
  for (const MeshAxis& axis : axes) params.mesh.emplace_back(axis.name, axis.size);
  params.devices = shared_devices(call.where(), options, axes);
  params.home = options.mesh;
  std::vector<ShapeDtype> shards;
  for (size_t i = 0; i < call.leaves().size(); ++i) {
    shards.push_back(Partition(call.leaves()[i].type(), options.in_specs[i], axes,
                               fmt::format("{}: in_specs: {}", call.where(), call.argument_name(i)))
                         .shard());
  }
  Recording recording = record_body(call, options, axes, shards);
  params.jaxpr = std::move(recording.program);
  // Values that the function closes over are whole on every device.
  params.in_specs.resize(recording.captured.size());
  append(params.in_specs, options.in_specs);
  params.out_specs = out_specs();
  const std::vector<ShapeDtype> results = params.jaxpr->output_types();
  for (size_t i = 0; i < results.size(); ++i) {
    whole_of(results[i], params.out_specs[i], axes,
             fmt::format("{}: out_specs: {}", call.where(), call.result_name(i)));
  }
  if (options.check_replication) {
    check_replication(call.where(), params, call);
    const AxesScope scope(axes);
    params.jaxpr = without_tracking(params.jaxpr, axes);
  }
  std::vector<Array> operands = std::move(recording.captured);
  append(operands, call.leaves());
  // An engine for meshes takes the devices from the shardings of the operands.
  if (MeshEngine::of(options.mesh.devices()[0]->engine())) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].is_concrete() || sharding_of(operands[i])) continue;
      operands[i] = device_put(operands[i], {options.mesh, params.in_specs[i]});
    }
  }
  // For the axes of an outer shard_map, the function is one operation.
  operands = vary_alike(std::move(operands));
  const Specs specs = params.out_specs;
  std::vector<Array> outputs = bind_shard_map(std::move(params), operands);
  if (options.mesh.devices().size() <= 1) return outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = spread_result(outputs[i], {options.mesh, specs[i]});
  }
  return outputs;
}

std::vector<Array> call_shard_map(TreeCall& call, const ShardMapOptions& options) {
  const auto for_leaves = [&](const Specs& specs, size_t count, const char* which) {
    if (specs.size() == 1) return Specs(count, specs[0]);
    if (specs.size() == count) return specs;
    invalid_argument(
        fmt::format("shard_map: {} has {} specs for {} arrays; give one for each, or one for "
                    "all",
                    which, specs.size(), count));
  };
  ShardMapOptions spread = options;
  spread.in_specs = for_leaves(options.in_specs, call.leaves().size(), "in_specs");
  return call_shard_map(static_cast<LeafCall&>(call), spread, [&] {
    return for_leaves(options.out_specs, call.result_tree().num_leaves(), "out_specs");
  });
}

}  // namespace detail
}  // namespace farcall
