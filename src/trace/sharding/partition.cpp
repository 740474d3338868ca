#include "trace/sharding/partition.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <farcall/primitives/control_flow.h>
#include <farcall/primitives/shard_map.h>
#include <farcall/program/text.h>
#include <farcall/program/walk.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/mesh_layout.h>
#include <farcall/trace/record.h>
#include <farcall/trace/rules.h>

#include "trace/sharding/propagation.h"

namespace farcall {
namespace {

using Specs = std::vector<PartitionSpec>;

bool has_partition_rule(const Equation& equation) {
  return equation.primitive->rules && equation.primitive->rules->partition;
}

// Whether the program holds an equation with a rule for its division: a foreign call or a
// custom_partitioning.
bool holds_calls(const Program& program) {
  return program.derived.find_or_make<bool>("holds calls to divide", {}, [&] {
    bool found = false;
    for_each_equation(program, [&](const Program&, const Equation& equation, size_t) {
      found |= has_partition_rule(equation) && equation.primitive->rules->specs;
    });
    return found;
  });
}

bool is_foreign_call(const Equation& equation) {
  return equation.primitive->kind == PrimitiveKind::kForeignCall;
}

// The engine that runs programs on all devices of the mesh. Null unless the mesh contains `device`,
// all its devices belong to one engine, and this is a MeshEngine.
const MeshEngine* mesh_engine_of(const Device& device, const Mesh& mesh) {
  const auto devices = mesh.devices();
  const auto is_alike = [&](const Device* one) { return &one->engine() == &device.engine(); };
  const bool is_one = std::ranges::find(devices, &device) != devices.end();
  return is_one && std::ranges::all_of(devices, is_alike) ? MeshEngine::of(device.engine())
                                                          : nullptr;
}

// Records a program again, with divided operations.
class Partitioner {
 public:
  Partitioner(const Mesh& mesh, std::vector<DivisionReport>& reports)
      : mesh_(mesh), reports_(reports) {}

  ProgramPtr divide(const Program& program, const Propagation& values) const {
    return record([&](std::span<const Array> arrays) { return run(program, arrays, values); },
                  program.input_types(), program.name);
  }

 private:
  ProgramPtr divide(const NestedSpecs& nested) const {
    return divide(*nested.program, Propagation(*nested.program, nested.specs, mesh_, false));
  }

  std::vector<Array> run(const Program& program, std::span<const Array> arrays,
                         const Propagation& values) const {
    return evaluate(program, arrays,
                    [&](const Equation& equation, std::span<const Array> operands) {
                      return apply(program, equation, operands, values);
                    });
  }

  std::vector<Array> apply(const Program& program, const Equation& equation,
                           std::span<const Array> operands, const Propagation& values) const {
    if (has_partition_rule(equation)) {
      std::vector<Array> results = divided(program, equation, operands, values.specs_of(equation));
      if (!results.empty()) return results;
    }
    const auto nested = nested_programs(equation);
    const bool has_calls = std::ranges::any_of(
        nested, [](const NamedProgram& each) { return holds_calls(*each.program); });
    if (has_calls && !equation.primitive->rules->specs) {
      if (const auto inside = values.nested(equation); !inside.empty()) {
        return run_nested(equation, operands, inside);
      }
    }
    return bind_primitive(*equation.primitive, equation.params, operands);
  }

  // The results of the primitive's partition rule; empty if the equation runs on whole arrays.
  std::vector<Array> divided(const Program& program, const Equation& equation,
                             std::span<const Array> operands, const CallSpecs& specs) const {
    std::vector<ShapeDtype> types;
    for (const uint32_t output : equation.outputs) types.push_back(program.variable_types[output]);
    PartitionResults results;
    if (is_any_split(specs.operands) || is_any_split(specs.results)) {
      results = equation.primitive->rules->partition(
          {*equation.primitive, equation.params, operands, types, mesh_, specs});
    } else {
      results.why_not = "none of its operands or results is divided";
    }
    const auto report = [&](const Equation& call) {
      reports_.push_back({name_of(call), results.rule, results.why_not,
                          results.outputs.empty() && is_any_split(specs.operands), call.where});
    };
    if (equation.primitive->rules->specs) {
      report(equation);
    } else if (!results.outputs.empty()) {
      for (const NamedProgram& nested : nested_programs(equation)) {
        for_each_equation(*nested.program, [&](const Program&, const Equation& call, size_t) {
          if (is_foreign_call(call)) report(call);
        });
      }
    }
    return std::move(results.outputs);
  }

  static std::string name_of(const Equation& call) {
    const auto target = call.primitive->foreign_target;
    return target ? target(call.params.get()).name : std::string(call.primitive->name);
  }

  // Runs equations that hold programs: calls, loops and branches.
  std::vector<Array> run_nested(const Equation& equation, std::span<const Array> operands,
                                const std::vector<NestedSpecs>& inside) const {
    const Params* params = equation.params.get();
    const auto bind = [&](auto changed) {
      return bind_primitive(*equation.primitive, make_params(std::move(changed)), operands);
    };
    if (const auto* scan = try_params<ScanParams>(params)) {
      ScanParams changed = *scan;
      changed.jaxpr = divide(inside[0]);
      return bind(std::move(changed));
    }
    if (const auto* loop = try_params<WhileParams>(params)) {
      WhileParams changed = *loop;
      changed.body_jaxpr = divide(inside[0]);
      return bind(std::move(changed));
    }
    if (const auto* cond = try_params<CondParams>(params)) {
      CondParams changed = *cond;
      for (size_t i = 0; i < inside.size(); ++i) changed.branches[i] = divide(inside[i]);
      return bind(std::move(changed));
    }
    const ProgramPtr& body = inside[0].program;
    return run(*body, operands, Propagation(*body, inside[0].specs, mesh_, false));
  }

  const Mesh& mesh_;
  std::vector<DivisionReport>& reports_;
};

// The specs, without those that do not fit the program's results.
Specs fitting(const Program& program, Specs results, const Mesh& mesh) {
  const std::vector<ShapeDtype> types = program.output_types();
  for (size_t i = 0; i < types.size(); ++i) {
    if (!fits(types[i], results[i], mesh.axes())) results[i].clear();
  }
  return results;
}

}  // namespace

DivisionKey division_key(std::string kind, const Mesh& mesh, std::span<const PartitionSpec> specs) {
  kind += " over " + mesh.to_string();
  for (const PartitionSpec& spec : specs) kind += " " + to_string(spec);
  std::vector<int64_t> numbers;
  for (const Device* device : mesh.devices()) numbers.push_back(device->number());
  return {std::move(kind), std::move(numbers)};
}

DividedProgramPtr partitioned(const Executable& executable, const Device& device, const Mesh& mesh,
                              std::span<const PartitionSpec> specs) {
  const Program& program = executable.program();
  const bool is_alone = mesh.devices().size() <= 1;
  const bool has_calls =
      !is_alone && (is_any_split(specs) || has_meshes(program)) && holds_calls(program);
  const MeshEngine* engine = is_alone ? nullptr : mesh_engine_of(device, mesh);
  const bool runs_as_is = !has_calls && !engine && &device == &executable.device();
  auto [kind, numbers] = division_key("divided", mesh, specs);
  numbers.push_back(device.number());
  numbers.push_back(runs_as_is);
  const std::vector<bool>& donated = executable.donated();
  numbers.insert(numbers.end(), donated.begin(), donated.end());
  return program.derived.find_or_make<DividedProgramPtr>(kind, numbers, [&]() -> DividedProgramPtr {
    const Propagation values(program, {{specs.begin(), specs.end()}, {}}, mesh, /*are_fixed=*/true);
    auto result = std::make_shared<DividedProgram>();
    result->results = fitting(program, values.specs().results, mesh);
    if (runs_as_is) return result;
    ProgramPtr divided = executable.program_ptr();
    if (has_calls) divided = Partitioner(mesh, result->calls).divide(program, values);
    if (engine) {
      result->layout = MeshLayout{mesh, {specs.begin(), specs.end()}, result->results};
      result->executable = engine->compile_over(std::move(divided), *result->layout, donated);
    } else {
      result->executable = compile(std::move(divided), device, donated);
    }
    return result;
  });
}

std::optional<MeshLayout> mesh_layout(const Program& program, const Shardings& inputs) {
  const auto is_spread = [](const auto& one) { return one && one->mesh.devices().size() > 1; };
  const auto first = std::ranges::find_if(inputs, is_spread);
  if (first == inputs.end()) return std::nullopt;
  MeshLayout layout{(*first)->mesh, {}, {}};
  for (const auto& input : inputs) {
    layout.inputs.push_back(input && input->mesh == layout.mesh ? input->spec : PartitionSpec());
  }
  const Propagation values(program, {layout.inputs, {}}, layout.mesh, /*are_fixed=*/true);
  layout.outputs = fitting(program, values.specs().results, layout.mesh);
  return layout;
}

DividedRun divided_run(const std::shared_ptr<const Executable>& executable,
                       const Shardings& inputs) {
  const auto first = std::ranges::find_if(inputs, &std::optional<NamedSharding>::has_value);
  if (first == inputs.end()) return {executable, {}, {}};
  const Mesh& mesh = (*first)->mesh;
  std::vector<PartitionSpec> specs;
  for (const auto& input : inputs) {
    specs.push_back(input && input->mesh == mesh ? input->spec : PartitionSpec());
  }
  const DividedProgramPtr divided = partitioned(*executable, executable->device(), mesh, specs);
  Shardings results;
  for (const PartitionSpec& spec : divided->results) {
    results.emplace_back(NamedSharding{mesh, spec});
  }
  return {divided->executable ? divided->executable : executable, divided->calls,
          std::move(results)};
}

std::string to_text(std::span<const DivisionReport> calls) {
  std::string text;
  for (const DivisionReport& call : calls) {
    text += call.target_name;
    if (call.where) text += " at " + to_text(*call.where);
    if (call.is_divided()) {
      text += fmt::format(" is divided by {}\n", call.rule);
    } else {
      text += fmt::format(" {}runs once: {}\n", call.is_gathered ? "gathers its operands and " : "",
                          call.why_not);
    }
  }
  return text;
}

}  // namespace farcall
