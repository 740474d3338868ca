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

#include <farcall/ops/shard_map.h>
#include <farcall/ops/sharding_constraint.h>
#include <farcall/trace/placement.h>

#include "array_object.h"
#include "convert.h"
#include "python_call.h"
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

NamedSharding to_sharding(const nb::tuple& given) {
  return {to_mesh(given[0], given[1]), to_spec(given[2])};
}

nb::tuple from_spec(const PartitionSpec& spec) {
  nb::list entries;
  for (const auto& entry : spec) {
    nb::list names;
    for (const std::string& name : entry) names.append(name);
    entries.append(nb::tuple(names));
  }
  return nb::tuple(entries);
}

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
  if (arrays.empty()) throw Error(ErrorCode::kInvalidArgument, "array_from_shards: no shards");
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

}  // namespace

void bind_sharding(nb::module_& module) {
  module.def("device_put", put);
  module.def("with_sharding_constraint", constrain);
  module.def("sharding_of", sharding_of_array);
  module.def("shards_of", shards);
  module.def("array_from_shards", from_shards);
  module.def("cut", cut);
  module.def("shard_map", call_shard_map);
}

}  // namespace farcall::python
