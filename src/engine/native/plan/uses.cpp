#include "engine/native/plan/uses.h"

#include <algorithm>
#include <numeric>

#include <farcall/primitives/cluster.h>

namespace farcall::native {

Uses uses_of(const Program& program, std::span<const EquationGroup> groups) {
  const size_t count = program.variable_types.size();
  Uses uses{std::vector<size_t>(count, kNever), std::vector<size_t>(count, 0),
            std::vector<std::vector<size_t>>(count), std::vector<size_t>(program.equations.size())};
  std::iota(uses.first_beside.begin(), uses.first_beside.end(), size_t{0});
  for (const EquationGroup group : groups) {
    for (size_t i = group.begin; i < group.end; ++i) uses.first_beside[i] = group.begin;
  }
  for (size_t i = 0; i < program.equations.size(); ++i) {
    for (const Atom atom : program.equations[i].inputs) {
      if (!atom.is_variable()) continue;
      uses.last_read[atom.index] = i;
      uses.readers[atom.index].push_back(i);
    }
    for (const uint32_t output : program.equations[i].outputs) {
      uses.last_read[output] = i;
      uses.made_by[output] = i;
    }
  }
  for (const Atom atom : program.outputs) {
    if (atom.is_variable()) uses.last_read[atom.index] = kNever;
  }
  return uses;
}

std::string_view reader_name(const Equation& equation, size_t operand) {
  const auto* params = try_params<ClusterParams>(equation.params.get());
  if (params) {
    const Atom input = Atom::variable(params->jaxpr->inputs[operand]);
    for (const Equation& member : params->jaxpr->equations) {
      if (std::ranges::find(member.inputs, input) != member.inputs.end()) {
        return member.primitive->name;
      }
    }
  }
  return equation.primitive->name;
}

bool is_result_of(const Program& program, uint32_t variable) {
  return std::ranges::find(program.outputs, Atom::variable(variable)) != program.outputs.end();
}

}  // namespace farcall::native
