#include "passes/inliner.h"

#include <utility>

#include <farcall/core/interrupt.h>

#include "passes/internal/nested.h"

namespace farcall {

Inliner::Inliner(const Program& program) : target_(without_equations(program)), program_(program) {}

ProgramPtr Inliner::run() {
  std::vector<Atom> names;
  for (uint32_t i = 0; i < program_.variable_types.size(); ++i) names.push_back(Atom::variable(i));
  add_equations(program_, names, /*is_outermost=*/true);
  for (Atom& output : target_.outputs) {
    if (output.is_variable()) output = names[output.index];
  }
  return std::make_shared<const Program>(std::move(target_));
}

void Inliner::add_equations(const Program& program, std::vector<Atom>& names, bool is_outermost) {
  for (const Equation& equation : program.equations) {
    poll_interrupt(target_.equations.size());
    Equation copy = equation;
    for (Atom& input : copy.inputs) {
      if (input.is_variable()) {
        input = names[input.index];
      } else if (!is_outermost) {
        input = add_literal(program.literals[input.index]);
      }
    }
    if (const auto outputs = replacement(copy)) {
      for (size_t i = 0; i < outputs->size(); ++i) names[equation.outputs[i]] = (*outputs)[i];
      continue;
    }
    if (!is_outermost) {
      for (uint32_t& output : copy.outputs) {
        const uint32_t renamed = add_variable(program.variable_types[output]);
        names[output] = Atom::variable(renamed);
        output = renamed;
      }
    }
    target_.equations.push_back(std::move(copy));
  }
}

std::vector<Atom> Inliner::add_body(const Program& body, std::span<const Atom> inputs) {
  std::vector<Atom> names(body.variable_types.size());
  for (size_t i = 0; i < inputs.size(); ++i) names[body.inputs[i]] = inputs[i];
  for (const Constant& constant : body.constants) {
    const uint32_t variable = add_variable(body.variable_types[constant.variable]);
    target_.constants.push_back({variable, constant.storage});
    names[constant.variable] = Atom::variable(variable);
  }
  add_equations(body, names, /*is_outermost=*/false);
  std::vector<Atom> outputs;
  for (const Atom output : body.outputs) {
    outputs.push_back(output.is_variable() ? names[output.index]
                                           : add_literal(body.literals[output.index]));
  }
  return outputs;
}

uint32_t Inliner::add_variable(ShapeDtype type) {
  target_.variable_types.push_back(type);
  return static_cast<uint32_t>(target_.variable_types.size() - 1);
}

Atom Inliner::add_literal(const Literal& literal) {
  target_.literals.push_back(literal);
  return Atom::literal(static_cast<uint32_t>(target_.literals.size() - 1));
}

}  // namespace farcall
