#include "passes/internal/foreign.h"

#include <algorithm>

#include <farcall/program/walk.h>

#include "passes/internal/nested.h"

namespace farcall {

bool runs_foreign_code(const Equation& equation) {
  if (equation.primitive->is_foreign()) return true;
  if (!has_regions(equation) && !equation.primitive->body) return false;
  return std::ranges::any_of(nested_programs(equation), [](const NamedProgram& nested) {
    return nested.program->derived.find_or_make<bool>(
        "foreign code", {}, [&] { return holds_foreign_code(*nested.program); });
  });
}

bool holds_foreign_code(const Program& program) {
  return std::ranges::any_of(program.equations, runs_foreign_code);
}

std::vector<bool> values_of_calls(const Program& program) {
  std::vector<bool> marks(program.variable_types.size(), false);
  const auto mark = [&](Atom atom) {
    if (atom.is_variable()) marks[atom.index] = true;
  };
  for (size_t i = program.equations.size(); i-- > 0;) {
    const Equation& equation = program.equations[i];
    const PrimitiveKind kind = equation.primitive->kind;
    const bool is_view = kind == PrimitiveKind::kView || kind == PrimitiveKind::kTranspose;
    if (equation.primitive->is_foreign() || (is_view && marks[equation.outputs[0]]) ||
        (kind == PrimitiveKind::kCond && runs_foreign_code(equation))) {
      std::ranges::for_each(equation.inputs, mark);
    }
  }
  return marks;
}

}  // namespace farcall
