#include "trace/partition.h"

#include <algorithm>
#include <utility>

#include <farcall/primitives/control_flow.h>
#include <farcall/primitives/shard_map.h>
#include <farcall/program/walk.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/record.h>
#include <farcall/trace/rules.h>

#include "trace/propagation.h"

namespace farcall {
namespace {

using Specs = std::vector<PartitionSpec>;

bool has_partition_rule(const Equation& equation) {
  return equation.primitive->rules && equation.primitive->rules->partition;
}

bool has_any_rule(const Program& program) {
  bool found = false;
  for_each_equation(program, [&](const Program&, const Equation& equation, size_t) {
    found |= has_partition_rule(equation);
  });
  return found;
}

bool has_constraint(const Program& program) {
  bool found = false;
  for_each_equation(program, [&](const Program&, const Equation& equation, size_t) {
    found |= try_params<ShardingConstraintParams>(equation.params.get()) != nullptr;
  });
  return found;
}

bool is_any_split(std::span<const PartitionSpec> specs) {
  return !std::ranges::all_of(specs, &PartitionSpec::empty);
}

Specs part(const Specs& specs, int64_t first, int64_t count) {
  return {specs.begin() + first, specs.begin() + first + count};
}

PartitionSpec without_leading(PartitionSpec spec) {
  if (!spec.empty()) spec.erase(spec.begin());
  return spec;
}
PartitionSpec with_leading(PartitionSpec spec) {
  spec.insert(spec.begin(), std::vector<std::string>());
  return spec;
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
  explicit Partitioner(const Mesh& mesh) : mesh_(mesh) {}

  struct Divided {
    ProgramPtr program;
    Specs outputs;
  };
  Divided divide(const Program& program, const Specs& inputs) const {
    Divided result;
    result.program = record(
        [&](std::span<const Array> arrays) { return run(program, arrays, inputs, result.outputs); },
        program.input_types(), program.name);
    return result;
  }

 private:
  std::vector<Array> run(const Program& program, std::span<const Array> arrays, const Specs& inputs,
                         Specs& outputs) const {
    Propagation values(program, inputs, mesh_.axes());
    std::vector<Array> results =
        evaluate(program, arrays, [&](const Equation& equation, std::span<const Array> operands) {
          return apply(equation, operands, values);
        });
    outputs = values.outputs();
    return results;
  }

  std::vector<Array> apply(const Equation& equation, std::span<const Array> operands,
                           Propagation& values) const {
    const Specs specs = values.inputs_of(equation);
    if (is_any_split(specs)) {
      if (has_partition_rule(equation)) {
        PartitionResults divided = equation.primitive->rules->partition(
            {*equation.primitive, equation.params, operands, specs, mesh_});
        if (!divided.outputs.empty()) {
          values.set_results(equation, divided.specs);
          return std::move(divided.outputs);
        }
      } else if (holds_calls(equation)) {
        Specs results;
        std::vector<Array> arrays = run_nested(equation, operands, specs, results);
        if (!arrays.empty()) {
          values.set_results(equation, results);
          return arrays;
        }
      }
    }
    values.add(equation);
    return bind_primitive(*equation.primitive, equation.params, operands);
  }

  static bool holds_calls(const Equation& equation) {
    return std::ranges::any_of(nested_programs(equation), [](const NamedProgram& nested) {
      return has_any_rule(*nested.program);
    });
  }

  // Divides the programs of calls, loops and branches. Returns no results for other equations.
  std::vector<Array> run_nested(const Equation& equation, std::span<const Array> operands,
                                const Specs& specs, Specs& results) const {
    const Params* params = equation.params.get();
    const auto bind = [&](auto changed) {
      return bind_primitive(*equation.primitive, make_params(std::move(changed)), operands);
    };
    if (const ProgramPtr body = called_program(equation)) {
      return run(*body, operands, specs, results);
    }
    if (const auto* scan = try_params<ScanParams>(params)) {
      ScanParams changed = *scan;
      Specs inputs = part(specs, 0, scan->num_consts + scan->num_carry);
      for (size_t i = inputs.size(); i < specs.size(); ++i) {
        inputs.push_back(without_leading(specs[i]));
      }
      const Divided body = divide_loop(*scan->jaxpr, inputs, scan->num_consts, scan->num_carry);
      changed.jaxpr = body.program;
      results = part(body.outputs, 0, scan->num_carry);
      for (size_t i = results.size(); i < body.outputs.size(); ++i) {
        results.push_back(with_leading(body.outputs[i]));
      }
      return bind(std::move(changed));
    }
    if (const auto* loop = try_params<WhileParams>(params)) {
      WhileParams changed = *loop;
      const Specs inputs = part(specs, loop->cond_nconsts, std::ssize(specs) - loop->cond_nconsts);
      const Divided body = divide_loop(*loop->body_jaxpr, inputs, loop->body_nconsts,
                                       std::ssize(inputs) - loop->body_nconsts);
      changed.body_jaxpr = body.program;
      results = body.outputs;
      return bind(std::move(changed));
    }
    if (const auto* cond = try_params<CondParams>(params)) {
      CondParams changed = *cond;
      const Specs inputs = part(specs, 1, std::ssize(specs) - 1);
      for (size_t i = 0; i < changed.branches.size(); ++i) {
        const Divided branch = divide(*changed.branches[i], inputs);
        changed.branches[i] = branch.program;
        if (i == 0) results = branch.outputs;
        for (size_t k = 0; k < results.size(); ++k) {
          if (results[k] != branch.outputs[k]) results[k].clear();
        }
      }
      return bind(std::move(changed));
    }
    return {};
  }

  // The carry has the same spec at the end of each step as at its beginning, or is not split.
  Divided divide_loop(const Program& body, Specs inputs, int64_t first, int64_t count) const {
    for (;;) {
      Divided divided = divide(body, inputs);
      bool has_changed = false;
      for (int64_t i = 0; i < count; ++i) {
        PartitionSpec& begin = inputs[static_cast<size_t>(first + i)];
        const PartitionSpec& end = divided.outputs[static_cast<size_t>(i)];
        if (begin == end) continue;
        if (begin.empty()) {
          divided.outputs[static_cast<size_t>(i)].clear();
        } else {
          begin.clear();
          has_changed = true;
        }
      }
      if (!has_changed) return divided;
    }
  }

  const Mesh& mesh_;
};

}  // namespace

DividedProgramPtr partitioned(const Executable& executable, const Mesh& mesh,
                              std::span<const PartitionSpec> specs) {
  const Program& program = executable.program();
  if (mesh.devices().size() <= 1) return nullptr;
  const auto holds = [&](const char* kind, bool (*has)(const Program&)) {
    return program.derived.find_or_make<bool>(kind, {}, [&] { return has(program); });
  };
  const bool holds_calls =
      (is_any_split(specs) || holds("holds constraints of shardings", has_constraint)) &&
      holds("holds calls to divide", has_any_rule);
  const MeshEngine* engine = mesh_engine_of(executable.device(), mesh);
  if (!holds_calls && !engine) return nullptr;
  std::string kind = "divided over " + mesh.to_string();
  for (const PartitionSpec& spec : specs) kind += " " + to_string(spec);
  std::vector<int64_t> numbers = {executable.device().number()};
  for (const Device* device : mesh.devices()) numbers.push_back(device->number());
  return program.derived.find_or_make<DividedProgramPtr>(kind, numbers, [&]() -> DividedProgramPtr {
    auto result = std::make_shared<DividedProgram>();
    ProgramPtr divided = executable.program_ptr();
    Specs outputs;
    if (holds_calls) {
      Partitioner::Divided made = Partitioner(mesh).divide(program, {specs.begin(), specs.end()});
      divided = std::move(made.program);
      outputs = std::move(made.outputs);
    } else {
      Propagation values(program, specs, mesh.axes());
      values.add_all();
      outputs = values.outputs();
    }
    if (!engine) {
      result->executable = compile(std::move(divided), executable.device());
      return result;
    }
    const std::vector<ShapeDtype> types = program.output_types();
    for (size_t i = 0; i < types.size(); ++i) {
      if (!fits(types[i], outputs[i], mesh.axes())) outputs[i].clear();
    }
    result->layout = MeshLayout{mesh, {specs.begin(), specs.end()}, std::move(outputs)};
    result->executable = engine->compile_over(std::move(divided), *result->layout);
    return result;
  });
}

}  // namespace farcall
