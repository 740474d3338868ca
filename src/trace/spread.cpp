// How the results of a program lie whose operands are spread over the devices of a mesh. Programs
// run whole; this decides where the results are kept, and no value depends on it.
#include <algorithm>
#include <optional>

#include <farcall/primitives/dot_general.h>
#include <farcall/primitives/reduce.h>
#include <farcall/primitives/shard_map.h>
#include <farcall/primitives/structural.h>
#include <farcall/program/walk.h>
#include <farcall/trace/placement.h>

namespace farcall {
namespace {

using AxesOfDimension = std::vector<std::string>;

// Of each variable; empty where nothing is split.
class Propagation {
 public:
  Propagation(const Program& program, std::span<const MeshAxis> axes)
      : program_(program), axes_(axes), specs_(program.variable_types.size()) {}

  std::vector<PartitionSpec> run(std::span<const PartitionSpec> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) specs_[program_.inputs[i]] = inputs[i];
    for (const Equation& equation : program_.equations) {
      const std::vector<PartitionSpec> results = results_of(equation);
      for (size_t i = 0; i < results.size(); ++i) specs_[equation.outputs[i]] = results[i];
    }
    std::vector<PartitionSpec> outputs;
    for (const Atom atom : program_.outputs) outputs.push_back(spec_of(atom));
    return outputs;
  }

 private:
  PartitionSpec spec_of(Atom atom) const {
    return atom.is_variable() ? specs_[atom.index] : PartitionSpec();
  }
  static AxesOfDimension entry(const PartitionSpec& spec, int64_t dimension) {
    return dimension < std::ssize(spec) ? spec[static_cast<size_t>(dimension)] : AxesOfDimension();
  }
  std::span<const int64_t> shape_of(Atom atom) const { return program_.type_of(atom).shape(); }

  std::vector<PartitionSpec> results_of(const Equation& equation) const {
    const Params* params = equation.params.get();
    if (const auto* map = try_params<ShardMapParams>(params)) return map->out_specs;
    std::vector<PartitionSpec> inputs;
    for (const Atom atom : equation.inputs) inputs.push_back(spec_of(atom));
    if (std::ranges::all_of(inputs, &PartitionSpec::empty)) return {};
    if (const ProgramPtr body = called_program(equation);
        body && body->inputs.size() == inputs.size() &&
        body->outputs.size() == equation.outputs.size()) {
      return Propagation(*body, axes_).run(inputs);
    }
    if (const auto spec = by_dimensions(equation, inputs)) return {*spec};
    // Where an operand has the shape of the result, elements mostly come from their own places.
    std::vector<PartitionSpec> results;
    for (const uint32_t output : equation.outputs) {
      PartitionSpec& result = results.emplace_back();
      for (size_t i = 0; i < inputs.size() && result.empty(); ++i) {
        if (std::ranges::equal(shape_of(equation.inputs[i]),
                               program_.variable_types[output].shape())) {
          result = inputs[i];
        }
      }
    }
    return results;
  }

  // Of operations that say which dimension goes where.
  std::optional<PartitionSpec> by_dimensions(const Equation& equation,
                                             const std::vector<PartitionSpec>& inputs) const {
    const Params* params = equation.params.get();
    PartitionSpec result;
    if (const auto* p = try_params<TransposeParams>(params)) {
      for (const int64_t dimension : p->permutation) result.push_back(entry(inputs[0], dimension));
      return result;
    }
    if (const auto* p = try_params<ReduceParams>(params)) {
      for (int64_t i = 0; i < std::ssize(shape_of(equation.inputs[0])); ++i) {
        if (std::ranges::find(p->axes, i) == p->axes.end()) result.push_back(entry(inputs[0], i));
      }
      return result;
    }
    if (const auto* p = try_params<BroadcastInDimParams>(params)) {
      result.resize(p->shape.size());
      for (size_t i = 0; i < p->broadcast_dimensions.size(); ++i) {
        const auto to = static_cast<size_t>(p->broadcast_dimensions[i]);
        const bool is_kept = shape_of(equation.inputs[0])[i] == p->shape[to];
        if (is_kept) result[to] = entry(inputs[0], static_cast<int64_t>(i));
      }
      return result;
    }
    if (const auto* p = try_params<DotGeneralParams>(params)) return product(*p, equation, inputs);
    return std::nullopt;
  }

  PartitionSpec product(const DotGeneralParams& p, const Equation& equation,
                        const std::vector<PartitionSpec>& inputs) const {
    PartitionSpec result;
    for (const int64_t dimension : p.lhs_batch) result.push_back(entry(inputs[0], dimension));
    const auto add_rest = [&](size_t operand, const std::vector<int64_t>& batch,
                              const std::vector<int64_t>& contracting) {
      for (int64_t i = 0; i < std::ssize(shape_of(equation.inputs[operand])); ++i) {
        const auto is_among = [&](const auto& all) {
          return std::ranges::find(all, i) != all.end();
        };
        if (!is_among(batch) && !is_among(contracting)) result.push_back(entry(inputs[operand], i));
      }
    };
    add_rest(0, p.lhs_batch, p.lhs_contracting);
    add_rest(1, p.rhs_batch, p.rhs_contracting);
    // An axis splits one dimension only.
    std::vector<std::string> taken;
    for (AxesOfDimension& one : result) {
      const auto is_taken = [&](const std::string& name) {
        return std::ranges::find(taken, name) != taken.end();
      };
      if (std::ranges::any_of(one, is_taken)) one.clear();
      taken.insert(taken.end(), one.begin(), one.end());
    }
    return result;
  }

  const Program& program_;
  std::span<const MeshAxis> axes_;
  std::vector<PartitionSpec> specs_;
};

bool fits(ShapeDtype type, const PartitionSpec& spec, std::span<const MeshAxis> axes) {
  try {
    const Partition partition(type, spec, axes, "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void spread_results(const Program& program, std::span<const Array> inputs,
                    std::span<Array> results) {
  const NamedSharding* first = nullptr;
  for (const Array& input : inputs) {
    if (!first && !input.node().storage()) first = sharding_of(input);
  }
  if (!first) return;
  const Mesh mesh = first->mesh;
  std::vector<PartitionSpec> specs;
  for (const Array& input : inputs) {
    const NamedSharding* sharding = sharding_of(input);
    specs.push_back(sharding && sharding->mesh == mesh ? sharding->spec : PartitionSpec());
  }
  const std::vector<PartitionSpec> found = Propagation(program, mesh.axes()).run(specs);
  for (size_t i = 0; i < results.size(); ++i) {
    if (const NamedSharding* made = sharding_of(results[i])) {
      // By devices of several processes, and by the mesh that the user knows.
      const NamedSharding known{mesh, made->spec};
      if (places_alike(*made, known)) results[i] = spread_result(results[i], known);
      continue;
    }
    const bool is_kept = fits(results[i].type(), found[i], mesh.axes());
    results[i] = spread_result(results[i], {mesh, is_kept ? found[i] : PartitionSpec()});
  }
}

}  // namespace farcall
