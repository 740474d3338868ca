// Arrays distributed over the devices of a mesh, and shard_map. A sharding passes between Python
// and C++ as a tuple: the axes ((name, size, type), …), the devices, and for each dimension the
// names of the axes that split it.
#include "bind.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <farcall/ops/custom_partitioning.h>
#include <farcall/ops/shard_map.h>
#include <farcall/ops/sharding_constraint.h>
#include <farcall/trace/placement.h>
#include <farcall/trace/varying.h>

#include "array_object.h"
#include "convert.h"
#include "interpreter_lock.h"
#include "python_call.h"
#include "shardings.h"
#include "traced_function.h"

namespace farcall::python {
namespace {

PartitionSpec to_spec(nb::handle entries) {
  return nb::cast<std::vector<std::vector<std::string>>>(entries);
}

Mesh to_mesh(nb::handle axes, nb::handle devices) {
  std::vector<MeshAxis> all;
  for (nb::handle axis : nb::borrow<nb::sequence>(axes)) {
    const nb::object name = axis[0], size = axis[1], type = axis[2];
    all.push_back({nb::cast<std::string>(name), nb::cast<int64_t>(size),
                   static_cast<AxisType>(nb::cast<int>(type))});
  }
  std::vector<const Device*> where;
  for (nb::handle device : nb::borrow<nb::sequence>(devices)) {
    where.push_back(&nb::cast<const Device&>(device));
  }
  return Mesh(std::move(all), std::move(where));
}

}  // namespace

NamedSharding to_sharding(const nb::tuple& given) {
  return {to_mesh(given[0], given[1]), to_spec(given[2])};
}

namespace {

nb::tuple from_spec(const PartitionSpec& spec) {
  nb::list entries;
  for (const auto& entry : spec) {
    nb::list names;
    for (const std::string& name : entry) names.append(name);
    entries.append(nb::tuple(names));
  }
  return nb::tuple(entries);
}

}  // namespace

nb::tuple from_sharding(const NamedSharding& sharding) {
  nb::list axes, devices;
  for (const MeshAxis& axis : sharding.mesh.axes()) {
    axes.append(nb::make_tuple(axis.name, axis.size, static_cast<int>(axis.type)));
  }
  for (const Device* device : sharding.mesh.devices()) {
    devices.append(nb::cast(device, nb::rv_policy::reference));
  }
  return nb::make_tuple(nb::tuple(axes), nb::tuple(devices), from_spec(sharding.spec));
}

namespace {

nb::object sharding_of_array(nb::handle array) {
  const Array x = to_array(array, "array");
  const NamedSharding* sharding = x.is_concrete() ? sharding_of(x) : nullptr;
  return sharding ? nb::object(from_sharding(*sharding)) : nb::none();
}

// Returns the shape of a shard and, for each position of the mesh, the start indices of its shard
// and its replica number.
nb::tuple cut(const std::vector<int64_t>& shape, nb::handle axes, nb::handle spec,
              const std::string& where) {
  std::vector<MeshAxis> all;
  for (nb::handle axis : nb::borrow<nb::sequence>(axes)) {
    const nb::object name = axis[0], size = axis[1];
    all.push_back({nb::cast<std::string>(name), nb::cast<int64_t>(size)});
  }
  const Partition partition(ShapeDtype(DType::kInt8, shape), to_spec(spec), all, where);
  nb::list sizes, shards;
  for (const int64_t size : partition.shard().shape()) sizes.append(size);
  for (size_t i = 0; i < partition.count(); ++i) {
    nb::list starts;
    for (const int64_t start : partition.starts(i)) starts.append(start);
    shards.append(nb::make_tuple(nb::tuple(starts), partition.replica(i)));
  }
  return nb::make_tuple(nb::tuple(sizes), shards);
}

nb::object put(nb::handle array, const nb::tuple& sharding) {
  return wrap_object(device_put(to_array(array, "device_put: x"), to_sharding(sharding)));
}

// Puts an uncommitted array whole on the devices of a mesh. Returns other arrays unchanged.
nb::object spread_unplaced(nb::handle array, const nb::tuple& sharding) {
  const Array x = to_array(array, "jit: argument");
  if (!x.is_concrete() || is_committed(x)) return nb::borrow(array);
  return wrap_object(spread_result(x, to_sharding(sharding)));
}

nb::object constrain(nb::handle array, const nb::tuple& sharding) {
  const Array x = to_array(array, "with_sharding_constraint: x");
  return wrap_object(with_sharding_constraint(x, to_sharding(sharding)));
}

nb::list shards(nb::handle array) {
  nb::list result;
  for (const Array& shard : shards_of(to_array(array, "array"))) result.append(wrap_object(shard));
  return result;
}

nb::object from_shards(const std::vector<int64_t>& shape, const nb::tuple& sharding,
                       const nb::list& parts) {
  std::vector<Array> arrays;
  for (nb::handle part : parts) arrays.push_back(to_array(part, "arrays"));
  if (arrays.empty()) invalid_argument("array_from_shards: no shards");
  const ShapeDtype type = arrays[0].type().with_shape(shape);
  return wrap_object(array_from_shards(type, to_sharding(sharding), arrays));
}

// `out_specs` is called after the function and returns one spec for each leaf of its result.
nb::object call_shard_map(nb::handle function, const std::string& where, nb::handle axes,
                          nb::handle devices, std::vector<std::string> axis_names,
                          nb::handle in_specs, nb::callable out_specs, bool check_replication,
                          nb::tuple args) {
  const CallArguments arguments = all_arguments(args, nb::dict());
  ShardMapOptions options;
  options.mesh = to_mesh(axes, devices);
  options.in_specs.clear();
  for (nb::handle spec : nb::borrow<nb::sequence>(in_specs)) {
    options.in_specs.push_back(to_spec(spec));
  }
  options.axis_names = std::move(axis_names);
  options.check_replication = check_replication;
  PythonCall call(function, where, arguments, leaves_to_arrays(where, arguments));
  const auto specs = [&] {
    std::vector<PartitionSpec> all;
    for (nb::handle spec : nb::borrow<nb::sequence>(out_specs())) all.push_back(to_spec(spec));
    return all;
  };
  const std::vector<Array> results = farcall::detail::call_shard_map(call, options, specs);
  return unflatten_arrays(call.result_tree(), results);
}

// ---- custom_partitioning ----

std::vector<PartitionSpec> to_specs(nb::handle given) {
  std::vector<PartitionSpec> specs;
  for (nb::handle spec : nb::borrow<nb::sequence>(given)) specs.push_back(to_spec(spec));
  return specs;
}

nb::tuple shape_tuple(ShapeDtype type) {
  nb::list sizes;
  for (const int64_t size : type.shape()) sizes.append(size);
  return nb::tuple(sizes);
}

nb::list from_spread(const std::vector<SpreadType>& arrays) {
  nb::list list;
  for (const SpreadType& one : arrays) {
    list.append(
        nb::make_tuple(shape_tuple(one.type), dtype_object(one.type.dtype()), from_spec(one.spec)));
  }
  return list;
}

// A Python rule, called with a mesh and flat lists of (shape, dtype, spec).
struct PythonRule {
  nb::object function;

  nb::object operator()(const SpreadCall& call) const {
    return function(from_sharding({call.mesh, {}}), from_spread(call.operands),
                    from_spread(call.results));
  }
};

// Returns a rule that calls `rule` with the interpreter lock held and applies `convert` to its
// result.
template <class Convert>
auto with_lock(nb::handle rule, const Convert& convert) {
  const auto kept = share(PythonRule{nb::borrow(rule)});
  return [kept, convert](const SpreadCall& call) {
    const nb::gil_scoped_acquire lock;
    return convert((*kept)(call));
  };
}

ShardFunction to_shard_function(const std::string& name, const nb::object& given) {
  ShardFunction made;
  const auto local = share(nb::object(given[0]));
  made.function = [local, name](std::span<const Array> shards) {
    const nb::gil_scoped_acquire lock;
    nb::list arrays;
    for (const Array& shard : shards) arrays.append(wrap_object(shard));
    return flatten_result(fmt::format("custom_partitioning({})", name), (*local)(arrays)).arrays;
  };
  made.operands = to_specs(nb::object(given[1]));
  made.results = to_specs(nb::object(given[2]));
  return made;
}

struct Partitioning {
  CustomPartitioningPtr rules;
};

Partitioning make_partitioning(std::string name, nb::handle partition, nb::handle sharding_rule,
                               nb::handle infer, nb::handle propagate) {
  CustomPartitioning rules;
  rules.partition = with_lock(
      partition, [name](const nb::object& given) { return to_shard_function(name, given); });
  if (!sharding_rule.is_none()) {
    rules.sharding_rule = with_lock(sharding_rule, [](const nb::object& given) {
      return to_sharding_rule(nb::cast<nb::tuple>(given));
    });
  }
  const auto specs = [](const nb::object& given) { return to_specs(given); };
  if (!infer.is_none()) rules.infer_sharding_from_operands = with_lock(infer, specs);
  if (!propagate.is_none()) rules.propagate_user_sharding = with_lock(propagate, specs);
  rules.name = std::move(name);
  return {std::make_shared<const CustomPartitioning>(std::move(rules))};
}

nb::object call_partitioned(nb::handle function, const std::string& where,
                            const Partitioning& partitioning, nb::tuple args) {
  const CallArguments arguments = all_arguments(args, nb::dict());
  PythonCall call(function, where, arguments, leaves_to_arrays(where, arguments));
  const std::vector<Array> results =
      farcall::detail::call_custom_partitioning(call, partitioning.rules);
  return unflatten_arrays(call.result_tree(), results);
}

}  // namespace

ShardingRule to_sharding_rule(const nb::tuple& given) {
  ShardingRuleOptions options;
  for (const auto& [factor, size] : nb::cast<nb::dict>(given[1])) {
    options.factor_sizes[nb::cast<std::string>(factor)] = nb::cast<int64_t>(size);
  }
  options.reduction_factors = nb::cast<std::vector<std::string>>(given[2]);
  options.need_replication_factors = nb::cast<std::vector<std::string>>(given[3]);
  options.permutation_factors = nb::cast<std::vector<std::string>>(given[4]);
  return ShardingRule(nb::cast<std::string>(given[0]), std::move(options));
}

void bind_sharding(nb::module_& module) {
  nb::class_<Partitioning>(module, "Partitioning");
  module.def("make_partitioning", make_partitioning, nb::arg(), nb::arg(), nb::arg().none(),
             nb::arg().none(), nb::arg().none());
  module.def("custom_partitioning", call_partitioned);
  // Raises for an invalid rule.
  module.def("check_sharding_rule", [](const nb::tuple& rule) { to_sharding_rule(rule); });
  module.def("device_put", put);
  module.def("spread_unplaced", spread_unplaced);
  module.def("with_sharding_constraint", constrain);
  module.def("sharding_of", sharding_of_array);
  module.def("shards_of", shards);
  module.def("array_from_shards", from_shards);
  module.def("cut", cut);
  module.def("shard_map", call_shard_map);
  module.def("varying_axes",
             [](nb::handle array) { return names_of(varying_axes(array_of(array.ptr()))); });
}

}  // namespace farcall::python
