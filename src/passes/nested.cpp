#include "passes/internal/nested.h"

#include <algorithm>
#include <utility>

#include <farcall/core/interrupt.h>
#include <farcall/primitives/control_flow.h>

namespace farcall {

bool has_regions(const Equation& equation) {
  return equation.primitive->is_loop() || equation.primitive->kind == PrimitiveKind::kCond;
}

ParamsPtr pass_regions(const Equation& equation, const Pass& pass) {
  const Params* params = equation.params.get();
  if (equation.primitive->kind == PrimitiveKind::kScan) {
    const auto& p = params_as<ScanParams>(params);
    ProgramPtr step = pass(p.jaxpr);
    if (step == p.jaxpr) return equation.params;
    ScanParams changed = p;
    changed.jaxpr = std::move(step);
    return make_params(std::move(changed));
  }
  if (equation.primitive->kind == PrimitiveKind::kWhile) {
    const auto& p = params_as<WhileParams>(params);
    ProgramPtr condition = pass(p.cond_jaxpr), body = pass(p.body_jaxpr);
    if (condition == p.cond_jaxpr && body == p.body_jaxpr) return equation.params;
    WhileParams changed = p;
    changed.cond_jaxpr = std::move(condition);
    changed.body_jaxpr = std::move(body);
    return make_params(std::move(changed));
  }
  const auto& p = params_as<CondParams>(params);
  CondParams changed;
  for (const ProgramPtr& branch : p.branches) changed.branches.push_back(pass(branch));
  if (changed.branches == p.branches) return equation.params;
  return make_params(std::move(changed));
}

ProgramPtr pass_nested(ProgramPtr program, const Pass& pass) {
  std::shared_ptr<Program> changed;
  const Program* now = program.get();
  for (size_t i = 0; i < now->equations.size(); ++i) {
    const Equation& equation = now->equations[i];
    if (!has_regions(equation)) continue;
    poll_interrupt();
    ParamsPtr params = pass_regions(equation, pass);
    if (params == equation.params) continue;
    if (!changed) {
      changed = to_change(std::move(program));
      now = changed.get();
    }
    changed->equations[i].params = std::move(params);
  }
  if (!changed) return program;
  return changed;
}

std::shared_ptr<Program> to_change(ProgramPtr program) {
  if (program.use_count() > 1) return std::make_shared<Program>(*program);
  auto changed = std::const_pointer_cast<Program>(std::move(program));
  changed->derived = Derived();
  return changed;
}

void erase_equations(Program& program, const std::vector<bool>& goes) {
  size_t kept = 0;
  for (size_t i = 0; i < program.equations.size(); ++i) {
    if (goes[i]) continue;
    if (kept != i) program.equations[kept] = std::move(program.equations[i]);
    ++kept;
  }
  program.equations.resize(kept);
}

Program without_equations(const Program& program) {
  Program copy;
  copy.name = program.name;
  copy.variable_types = program.variable_types;
  copy.literals = program.literals;
  copy.constants = program.constants;
  copy.inputs = program.inputs;
  copy.outputs = program.outputs;
  copy.axis_names = program.axis_names;
  copy.holds_callback = program.holds_callback;
  return copy;
}

}  // namespace farcall
