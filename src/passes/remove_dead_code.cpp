#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include <farcall/passes/passes.h>
#include <farcall/primitives/control_flow.h>

#include "passes/internal/nested.h"

namespace farcall {
namespace {

// The equations and variables that a program needs for some of its outputs and for its effects.
struct Liveness {
  std::vector<bool> equations, variables;
};

Liveness find_live(const Program& program, const std::vector<bool>& wanted) {
  Liveness live{std::vector<bool>(program.equations.size(), false),
                std::vector<bool>(program.variable_types.size(), false)};
  const auto mark = [&](Atom atom) {
    if (atom.is_variable()) live.variables[atom.index] = true;
  };
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    if (wanted[i]) mark(program.outputs[i]);
  }
  for (size_t i = program.equations.size(); i-- > 0;) {
    const Equation& equation = program.equations[i];
    live.equations[i] =
        has_effect(equation.effects) ||
        std::ranges::any_of(equation.outputs, [&](uint32_t v) { return live.variables[v]; });
    if (live.equations[i]) std::ranges::for_each(equation.inputs, mark);
  }
  return live;
}

template <class Vector>
Vector keep(const Vector& items, const std::vector<bool>& flags) {
  Vector kept;
  for (size_t i = 0; i < items.size(); ++i) {
    if (flags[i]) kept.push_back(items[i]);
  }
  return kept;
}

// The scan without results that nobody reads, and without what only they need.
Equation prune_scan(const Equation& scan, const std::vector<bool>& is_read) {
  const auto& p = params_as<ScanParams>(scan.params.get());
  const auto num_consts = static_cast<size_t>(p.num_consts);
  const auto num_carry = static_cast<size_t>(p.num_carry);
  std::vector<bool> wanted;
  for (const uint32_t output : scan.outputs) wanted.push_back(is_read[output]);
  // A carry is also needed if the next step reads it.
  Liveness live;
  for (bool changed = true; changed;) {
    changed = false;
    live = find_live(*p.jaxpr, wanted);
    for (size_t i = 0; i < num_carry; ++i) {
      if (wanted[i] || !live.variables[p.jaxpr->inputs[num_consts + i]]) continue;
      wanted[i] = changed = true;
    }
  }
  std::vector<bool> takes;
  for (size_t i = 0; i < scan.inputs.size(); ++i) {
    const bool is_carry = i >= num_consts && i < num_consts + num_carry;
    takes.push_back(is_carry ? wanted[i - num_consts] : live.variables[p.jaxpr->inputs[i]]);
  }
  const auto count = [](const std::vector<bool>& flags, size_t from, size_t number) {
    return std::count(flags.begin() + static_cast<int64_t>(from),
                      flags.begin() + static_cast<int64_t>(from + number), true);
  };
  if (count(wanted, 0, wanted.size()) == static_cast<int64_t>(wanted.size()) &&
      count(takes, 0, takes.size()) == static_cast<int64_t>(takes.size())) {
    return scan;
  }
  auto body = std::make_shared<Program>(*p.jaxpr);
  body->inputs = keep(body->inputs, takes);
  body->outputs = keep(body->outputs, wanted);
  body->equations = keep(body->equations, live.equations);
  ScanParams q = p;
  q.jaxpr = std::move(body);
  q.num_consts = count(takes, 0, num_consts);
  q.num_carry = count(wanted, 0, num_carry);
  Equation pruned = scan;
  pruned.params = make_params(std::move(q));
  pruned.inputs = keep(scan.inputs, takes);
  pruned.outputs = keep(scan.outputs, wanted);
  return pruned;
}

}  // namespace

ProgramPtr remove_dead_code(ProgramPtr program) {
  const Equations& equations = program->equations;
  std::vector<bool> is_read(program->variable_types.size(), false);
  const auto mark = [&](Atom atom) {
    if (atom.is_variable()) is_read[atom.index] = true;
  };
  std::ranges::for_each(program->outputs, mark);
  std::vector<bool> goes(equations.size(), false);
  std::unordered_map<size_t, Equation> changed;
  bool any_goes = false;
  for (size_t i = equations.size(); i-- > 0;) {
    const Equation& equation = equations[i];
    if (!has_effect(equation.effects) &&
        std::ranges::none_of(equation.outputs, [&](uint32_t v) { return is_read[v]; })) {
      goes[i] = any_goes = true;
      continue;
    }
    if (!has_regions(equation)) {
      std::ranges::for_each(equation.inputs, mark);
      continue;
    }
    Equation pruned =
        equation.primitive->kind == PrimitiveKind::kScan ? prune_scan(equation, is_read) : equation;
    pruned.params = pass_regions(pruned, remove_dead_code);
    std::ranges::for_each(pruned.inputs, mark);
    if (pruned.params != equation.params) changed.emplace(i, std::move(pruned));
  }
  const auto is_dead = [&](const Constant& constant) { return !is_read[constant.variable]; };
  if (!any_goes && changed.empty() && std::ranges::none_of(program->constants, is_dead)) {
    return program;
  }
  const auto result = to_change(std::move(program));
  std::erase_if(result->constants, is_dead);
  for (auto& [i, equation] : changed) result->equations[i] = std::move(equation);
  erase_equations(*result, goes);
  return result;
}

}  // namespace farcall
