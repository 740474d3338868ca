#include <farcall/ops/mesh.h>

#include <algorithm>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/rules.h>

#include "trace/before_rules.h"
#include "trace/custom.h"
#include "trace/named_axis.h"

namespace farcall {
namespace {

// Hands everything down but what refers to its axis, which is batched over one element. No array
// gets a batch dimension, so that it has no arrays of its own.
class MeshInterpreter final : public Interpreter {
 public:
  explicit MeshInterpreter(const std::string& name)
      : Interpreter(&current_interpreter()), axis_{1, name}, named_(axis_) {}

  std::vector<Array> process(const Primitive& primitive, const ParamsPtr& params,
                             std::span<const Array> inputs) override {
    const InterpreterScope scope(*parent());
    if (!names_axis(primitive, params, axis_)) return bind_primitive(primitive, params, inputs);
    if (!primitive.rules || !primitive.rules->batch) {
      missing_rule(primitive, "batching", "do not use it inside shard_map");
    }
    check_operands(primitive, params.get(), inputs);
    const std::vector<int64_t> axes(inputs.size(), kNotBatched);
    return without_batch(primitive.rules->batch({primitive, params, inputs, axes, axis_}));
  }

  std::vector<Array> process_custom(const CustomCallPtr& call,
                                    std::span<const Array> inputs) override {
    const InterpreterScope scope(*parent());
    const std::vector<int64_t> axes(inputs.size(), kNotBatched);
    return without_batch(batch_of_custom_call(call, inputs, axes, axis_, /*origin=*/0));
  }

 private:
  static std::vector<Array> without_batch(BatchResults results) {
    for (size_t i = 0; i < results.outputs.size(); ++i) {
      const int64_t axis = results.axes[i];
      if (axis == kNotBatched || results.outputs[i].is_null()) continue;
      results.outputs[i] = lax::squeeze(results.outputs[i], {axis});
    }
    return std::move(results.outputs);
  }

  BatchAxis axis_;
  NamedAxis named_;
};

void check_spec(const PartitionSpec& spec, const Mesh& mesh, const ShapeDtype& type,
                const std::string& what) {
  if (spec.size() > type.rank()) {
    invalid_argument(
        fmt::format("shard_map: the spec of {} has {} entries, but it is {} of rank {}", what,
                    spec.size(), type.to_string(), type.rank()));
  }
  for (const auto& entry : spec) {
    for (const std::string& name : entry) {
      if (std::ranges::find(mesh, name, &MeshAxis::name) == mesh.end()) {
        invalid_argument(
            fmt::format("shard_map: the spec of {} names axis \"{}\", which the mesh does not "
                        "have",
                        what, name));
      }
    }
  }
}

template <class Name>
void check_specs(const std::vector<PartitionSpec>& specs, const Mesh& mesh,
                 std::span<const Array> leaves, const char* which, const Name& name) {
  if (specs.size() != 1 && specs.size() != leaves.size()) {
    invalid_argument(
        fmt::format("shard_map: {} has {} specs for {} arrays; give one for each, or one for "
                    "all",
                    which, specs.size(), leaves.size()));
  }
  for (size_t i = 0; i < leaves.size(); ++i) {
    check_spec(specs[specs.size() == 1 ? 0 : i], mesh, leaves[i].type(), name(i));
  }
}

}  // namespace

std::vector<Array> with_mesh_axes(const FlatFunction& function, std::span<const Array> inputs,
                                  ListOf<std::string> axes) {
  if (axes.empty()) return function(inputs);
  const auto rest = axes.subspan(1);
  if (axes[0].empty()) invalid_argument("with_mesh_axes: an axis has an empty name");
  if (std::ranges::find(rest, axes[0]) != rest.end()) {
    invalid_argument(fmt::format("with_mesh_axes: axis \"{}\" is named twice", axes[0]));
  }
  MeshInterpreter interpreter(axes[0]);
  const InterpreterScope scope(interpreter);
  return with_mesh_axes(function, inputs, {rest.data(), rest.size()});
}

namespace detail {

std::vector<Array> call_shard_map(TreeCall& call, const ShardMapOptions& options) {
  std::vector<std::string> names;
  int64_t size = 1;
  for (const MeshAxis& axis : options.mesh) {
    names.push_back(axis.name);
    size = axis.size == 1 ? size : 0;
  }
  if (size != 1 || names.empty()) {
    invalid_argument("shard_map: there is one device: the mesh must have axes, each of size 1");
  }
  check_specs(options.in_specs, options.mesh, call.leaves(), "in_specs",
              [&](size_t i) { return call.argument_name(i); });
  std::vector<Array> results = with_mesh_axes(call.as_function(), call.leaves(), names);
  check_specs(options.out_specs, options.mesh, results, "out_specs",
              [&](size_t i) { return call.result_name(i); });
  return results;
}

}  // namespace detail
}  // namespace farcall
