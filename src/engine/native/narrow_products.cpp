#include "engine/native/narrow_products.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <farcall/primitives/convolution.h>
#include <farcall/primitives/dot_general.h>
#include <farcall/primitives/elementwise.h>

#include "engine/native/kernels/products/short_product.h"
#include "passes/internal/foreign.h"
#include "passes/internal/nested.h"

namespace farcall::native {
namespace {

bool is_of_products(const Equation& equation) {
  const Params* const params = equation.params.get();
  return try_params<DotGeneralParams>(params) || try_params<ConvParams>(params);
}

}  // namespace

ProgramPtr narrow_products(ProgramPtr program) {
  program = pass_nested(std::move(program), narrow_products);
  if (!std::ranges::any_of(program->equations, is_of_products)) return program;
  std::vector<const Equation*> made_by(program->variable_types.size(), nullptr);
  for (const Equation& equation : program->equations) {
    for (const uint32_t output : equation.outputs) made_by[output] = &equation;
  }
  const std::vector<bool> of_calls = values_of_calls(*program);
  // The operand before it is converted.
  const auto original = [&](Atom operand) {
    const Equation* const made = operand.is_variable() ? made_by[operand.index] : nullptr;
    if (!made || !try_params<ConvertElementTypeParams>(made->params.get())) return operand;
    const Atom from = made->inputs[0];
    return from.is_variable() && !of_calls[from.index] ? from : operand;
  };
  // By equation: the operands that it reads instead.
  std::vector<std::pair<size_t, std::vector<Atom>>> changes;
  for (size_t i = 0; i < program->equations.size(); ++i) {
    const Equation& equation = program->equations[i];
    if (!is_of_products(equation)) continue;
    const Atom lhs = original(equation.inputs[0]), rhs = original(equation.inputs[1]);
    const DType dtype = program->type_of(lhs).dtype();
    const bool is_changed = lhs != equation.inputs[0] && rhs != equation.inputs[1] &&
                            dtype == program->type_of(rhs).dtype();
    if (is_changed &&
        find_short_product(dtype, program->variable_types[equation.outputs[0]].dtype())) {
      changes.emplace_back(i, std::vector{lhs, rhs});
    }
  }
  if (changes.empty()) return program;
  const std::shared_ptr<Program> changed = to_change(std::move(program));
  for (auto& [i, inputs] : changes) changed->equations[i].inputs = std::move(inputs);
  return changed;
}

}  // namespace farcall::native
