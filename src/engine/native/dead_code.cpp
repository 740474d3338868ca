#include <algorithm>
#include <vector>

#include "engine/native/passes.h"

namespace farcall::native {

ProgramPtr remove_dead_code(const ProgramPtr& program) {
  std::vector<bool> is_read(program->variable_types.size(), false);
  const auto mark = [&](Atom atom) {
    if (atom.is_variable()) is_read[atom.index] = true;
  };
  std::ranges::for_each(program->outputs, mark);
  std::vector<bool> is_live(program->equations.size(), false);
  for (size_t i = program->equations.size(); i-- > 0;) {
    const Equation& equation = program->equations[i];
    is_live[i] = has_effect(equation.effects) ||
                 std::ranges::any_of(equation.outputs, [&](uint32_t v) { return is_read[v]; });
    if (is_live[i]) std::ranges::for_each(equation.inputs, mark);
  }
  if (std::ranges::all_of(is_live, [](bool live) { return live; })) return program;

  auto result = std::make_shared<Program>(*program);
  result->equations.clear();
  for (size_t i = 0; i < program->equations.size(); ++i) {
    if (is_live[i]) result->equations.push_back(program->equations[i]);
  }
  return result;
}

}  // namespace farcall::native
