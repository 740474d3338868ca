#include "trace/sharding/propagation.h"

#include <algorithm>
#include <utility>

#include <farcall/core/error.h>
#include <farcall/primitives/control_flow.h>
#include <farcall/primitives/shard_map.h>
#include <farcall/program/walk.h>

namespace farcall {
namespace {

using Specs = std::vector<PartitionSpec>;

Specs part(const Specs& specs, size_t first, size_t count) {
  const auto begin = specs.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}
void append(Specs& specs, const Specs& more) {
  specs.insert(specs.end(), more.begin(), more.end());
}

PartitionSpec without_leading(PartitionSpec spec) {
  if (!spec.empty()) spec.erase(spec.begin());
  return spec;
}
PartitionSpec with_leading(PartitionSpec spec, const std::vector<std::string>& axes) {
  const auto is_taken = [&](const std::string& axis) {
    return std::ranges::any_of(
        spec, [&](const auto& one) { return std::ranges::find(one, axis) != one.end(); });
  };
  const bool is_free = std::ranges::none_of(axes, is_taken);
  spec.insert(spec.begin(), is_free ? axes : std::vector<std::string>());
  return shortened(std::move(spec));
}

bool is_known(const CallSpecs& specs) {
  return is_any_split(specs.operands) || is_any_split(specs.results);
}

}  // namespace

bool has_meshes(const Program& program) {
  return program.derived.find_or_make<bool>("refers to meshes", {}, [&] {
    bool found = false;
    for_each_equation(program, [&](const Program&, const Equation& equation, size_t) {
      found |= try_params<ShardingConstraintParams>(equation.params.get()) != nullptr ||
               try_params<ShardMapParams>(equation.params.get()) != nullptr;
    });
    return found;
  });
}

Mesh home_of(const Params& params) {
  Mesh home;
  const auto consider = [&](const Mesh& mesh) {
    if (home.devices().size() > 1) return;
    if (!std::ranges::all_of(mesh.devices(), &Device::is_addressable)) return;
    if (home.devices().empty() || mesh.devices().size() > 1) home = mesh;
  };
  if (const auto* constraint = try_params<ShardingConstraintParams>(&params)) {
    consider(constraint->home);
  } else if (const auto* map = try_params<ShardMapParams>(&params)) {
    consider(map->home);
  }
  for (const NamedProgram& nested : params.programs()) consider(home_of(*nested.program));
  return home;
}

Mesh home_of(const Program& program) {
  return program.derived.find_or_make<Mesh>("home", {}, [&] {
    Mesh home;
    for (const Equation& equation : program.equations) {
      if (!equation.params) continue;
      Mesh mesh = home_of(*equation.params);
      if (home.devices().empty() || mesh.devices().size() > 1) home = std::move(mesh);
      if (home.devices().size() > 1) break;
    }
    return home;
  });
}

Propagation::Propagation(const Program& program, const CallSpecs& specs, const Mesh& mesh,
                         bool are_fixed)
    : program_(program),
      mesh_(mesh),
      specs_(program.variable_types.size()),
      is_fixed_(program.variable_types.size(), false) {
  for (size_t i = 0; i < specs.operands.size(); ++i) {
    specs_[program.inputs[i]] = shortened(specs.operands[i]);
    is_fixed_[program.inputs[i]] = are_fixed;
  }
  // Priorities: specs of inputs, then wanted specs of outputs, then specs that operations between
  // them suggest.
  bool has_changed = true;
  for (int round = 0; has_changed && round < 8; ++round) {
    has_changed = false;
    for (const Equation& equation : program.equations)
      has_changed |= update(equation, /*is_backward=*/false);
    for (size_t i = 0; i < specs.results.size(); ++i) {
      has_changed |= set(program.outputs[i], specs.results[i]);
    }
    for (size_t i = program.equations.size(); i-- > 0;) {
      has_changed |= update(program.equations[i], /*is_backward=*/true);
    }
  }
}

CallSpecs Propagation::specs_of(const Equation& equation) const {
  CallSpecs specs;
  for (const Atom atom : equation.inputs) specs.operands.push_back(spec_of(atom));
  for (const uint32_t output : equation.outputs) specs.results.push_back(specs_[output]);
  return specs;
}

CallSpecs Propagation::specs() const {
  CallSpecs specs;
  for (const uint32_t input : program_.inputs) specs.operands.push_back(specs_[input]);
  for (const Atom output : program_.outputs) specs.results.push_back(spec_of(output));
  return specs;
}

bool Propagation::set(Atom atom, const PartitionSpec& spec) {
  if (!atom.is_variable() || is_fixed_[atom.index] || !specs_[atom.index].empty()) return false;
  PartitionSpec wanted = shortened(spec);
  if (wanted.empty() || !fits(program_.type_of(atom), wanted, mesh_.axes())) return false;
  specs_[atom.index] = std::move(wanted);
  return true;
}

bool Propagation::update(const Equation& equation, bool is_backward) {
  const Params* params = equation.params.get();
  const auto* constraint = try_params<ShardingConstraintParams>(params);
  const auto* map = try_params<ShardMapParams>(params);
  bool has_changed = false;
  if (constraint && constraint->mesh.empty()) constraint = nullptr;  // of one device
  if (constraint || map) {
    if (!has_axes(mesh_.axes(), constraint ? constraint->mesh : map->mesh)) {
      if (map) return false;
      constraint = nullptr;  // its mesh has other axes
    } else {
      for (size_t i = 0; i < equation.outputs.size(); ++i) {
        const uint32_t output = equation.outputs[i];
        if (is_fixed_[output]) continue;
        is_fixed_[output] = true;
        specs_[output] = shortened(constraint ? constraint->spec : map->out_specs[i]);
        has_changed = true;
      }
      for (size_t i = 0; is_backward && i < equation.inputs.size(); ++i) {
        has_changed |= set(equation.inputs[i], constraint ? constraint->spec : map->in_specs[i]);
      }
      return has_changed;
    }
  }
  const CallSpecs found = inferred(equation);
  for (size_t i = 0; i < found.results.size(); ++i) {
    has_changed |= set(Atom::variable(equation.outputs[i]), found.results[i]);
  }
  for (size_t i = 0; is_backward && i < found.operands.size(); ++i) {
    has_changed |= set(equation.inputs[i], found.operands[i]);
  }
  return has_changed;
}

CallSpecs Propagation::inferred(const Equation& equation) const {
  if (!nested_programs(equation).empty()) {
    const Inside& found = look_inside(equation);
    if (!found.programs.empty()) return found.specs;
  }
  const CallSpecs known = specs_of(equation);
  if (!is_known(known)) return {};
  std::vector<ShapeDtype> operands, results;
  for (const Atom atom : equation.inputs) operands.push_back(program_.type_of(atom));
  for (const uint32_t output : equation.outputs) {
    results.push_back(program_.variable_types[output]);
  }
  const Params* params = equation.params.get();
  const SpecsCall call{params, operands, results, mesh_, known};
  const TransformRules* rules = equation.primitive->rules;
  if (rules && rules->specs) {
    if (std::optional<CallSpecs> found = rules->specs(call)) return std::move(*found);
    return divide(name_by_place(operands, results), call).specs;
  }
  return divide(name_dimensions(params, operands, results), call).specs;
}

// Cached while the known specs of the equation are unchanged, which limits the work for nested
// programs.
const Propagation::Inside& Propagation::look_inside(const Equation& equation) const {
  CallSpecs known = specs_of(equation);
  const auto [place, is_new] = inside_.try_emplace(&equation);
  Inside& kept = place->second;
  if (is_new || kept.known != known) {
    kept = {std::move(known), {}, {}};
    kept.specs = through(equation, kept.programs);
  }
  return kept;
}

std::vector<NestedSpecs> Propagation::nested(const Equation& equation) const {
  if (nested_programs(equation).empty()) return {};
  return look_inside(equation).programs;
}

CallSpecs Propagation::through(const Equation& equation, std::vector<NestedSpecs>& programs) const {
  const Params* params = equation.params.get();
  CallSpecs known = specs_of(equation);
  const auto is_idle = [&] {
    return !is_known(known) &&
           std::ranges::none_of(nested_programs(equation),
                                [](const NamedProgram& each) { return has_meshes(*each.program); });
  };
  if (const ProgramPtr body = called_program(equation);
      body && body->inputs.size() == known.operands.size() &&
      body->outputs.size() == known.results.size() &&
      !(equation.primitive->rules && equation.primitive->rules->specs)) {
    programs.push_back({body, known});
    return is_idle() ? known : inside(*body, known);
  }
  if (const auto* p = try_params<ScanParams>(params)) {
    const auto num_fixed = static_cast<size_t>(p->num_consts + p->num_carry);
    const auto num_carry = static_cast<size_t>(p->num_carry);
    // Independent steps may be divided among the devices.
    std::vector<std::string> steps;
    const auto note = [&](const Specs& specs, size_t first) {
      for (size_t i = first; i < specs.size() && steps.empty(); ++i) steps = entry(specs[i], 0);
    };
    if (num_carry == 0) {
      note(known.operands, num_fixed);
      note(known.results, 0);
    }
    CallSpecs specs{part(known.operands, 0, num_fixed), part(known.results, 0, num_carry)};
    for (size_t i = num_fixed; i < known.operands.size(); ++i) {
      specs.operands.push_back(without_leading(known.operands[i]));
    }
    for (size_t i = num_carry; i < known.results.size(); ++i) {
      specs.results.push_back(without_leading(known.results[i]));
    }
    if (is_idle()) {
      programs.push_back({p->jaxpr, std::move(specs)});
      return known;
    }
    specs = through_loop(p->jaxpr, std::move(specs), static_cast<size_t>(p->num_consts), num_carry,
                         programs);
    for (size_t i = num_fixed; i < specs.operands.size(); ++i) {
      specs.operands[i] = with_leading(std::move(specs.operands[i]), steps);
    }
    for (size_t i = num_carry; i < specs.results.size(); ++i) {
      specs.results[i] = with_leading(std::move(specs.results[i]), steps);
    }
    return specs;
  }
  if (const auto* p = try_params<WhileParams>(params)) {
    const auto num_before = static_cast<size_t>(p->cond_nconsts);
    CallSpecs specs{part(known.operands, num_before, known.operands.size() - num_before),
                    known.results};
    if (is_idle()) {
      programs.push_back({p->body_jaxpr, std::move(specs)});
      return known;
    }
    specs = through_loop(p->body_jaxpr, std::move(specs), static_cast<size_t>(p->body_nconsts),
                         known.results.size(), programs);
    Specs operands = part(known.operands, 0, num_before);
    append(operands, specs.operands);
    return {std::move(operands), std::move(specs.results)};
  }
  if (const auto* p = try_params<CondParams>(params)) {
    const CallSpecs given{part(known.operands, 1, known.operands.size() - 1), known.results};
    CallSpecs found = given;
    for (size_t b = 0; b < p->branches.size(); ++b) {
      programs.push_back({p->branches[b], given});
      if (is_idle()) continue;
      const CallSpecs branch = inside(*p->branches[b], given);
      for (size_t i = 0; i < found.operands.size(); ++i) {
        if (found.operands[i].empty()) found.operands[i] = branch.operands[i];
      }
      for (size_t i = 0; i < found.results.size(); ++i) {
        if (b == 0) found.results[i] = branch.results[i];
        if (found.results[i] != branch.results[i]) found.results[i].clear();
      }
    }
    found.operands.insert(found.operands.begin(), known.operands[0]);
    return found;
  }
  return known;
}

// A carry must have the same spec at the beginning and at the end of each step; otherwise it is
// whole.
CallSpecs Propagation::through_loop(const ProgramPtr& body, CallSpecs specs, size_t first_carry,
                                    size_t num_carry, std::vector<NestedSpecs>& programs) const {
  std::vector<bool> is_whole(num_carry, false);
  for (;;) {
    for (size_t i = 0; i < num_carry; ++i) {
      PartitionSpec& begin = specs.operands[first_carry + i];
      PartitionSpec& end = specs.results[i];
      if (is_whole[i]) begin.clear();
      if (begin.empty() && !is_whole[i]) begin = end;
      end = begin;
    }
    CallSpecs found = inside(*body, specs);
    bool has_changed = false;
    for (size_t i = 0; i < num_carry; ++i) {
      PartitionSpec& begin = found.operands[first_carry + i];
      PartitionSpec& end = found.results[i];
      if (begin == end || is_whole[i]) continue;
      has_changed = true;
      if (begin.empty() && specs.results[i].empty()) {
        specs.results[i] = end;  // it can perhaps begin like this
      } else {
        is_whole[i] = true;
      }
    }
    if (has_changed) continue;
    for (size_t i = 0; i < num_carry; ++i) {
      if (!is_whole[i]) continue;
      found.operands[first_carry + i].clear();
      found.results[i].clear();
    }
    programs.push_back({body, std::move(specs)});
    return found;
  }
}

bool fits(ShapeDtype type, const PartitionSpec& spec, std::span<const MeshAxis> axes) {
  try {
    const Partition partition(type, spec, axes, "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace farcall
