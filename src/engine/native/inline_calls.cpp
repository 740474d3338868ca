#include <algorithm>
#include <vector>

#include "engine/native/passes.h"

namespace farcall::native {
namespace {

// Null for equations that are no calls.
ProgramPtr body_of(const Equation& equation) {
  const auto body = equation.primitive->body;
  return body ? body(equation.params.get()) : nullptr;
}

bool has_calls(const Program& program) {
  return std::ranges::any_of(program.equations,
                             [](const Equation& equation) { return body_of(equation) != nullptr; });
}

// Copies equations into one program, renaming variables on the way.
class Inliner {
 public:
  explicit Inliner(const Program& program) : target_(program) { target_.equations.clear(); }

  ProgramPtr run(const Program& program) {
    std::vector<Atom> names;
    for (uint32_t i = 0; i < program.variable_types.size(); ++i) {
      names.push_back(Atom::variable(i));
    }
    add_equations(program, names, /*is_outermost=*/true);
    for (Atom& output : target_.outputs) {
      if (output.is_variable()) output = names[output.index];
    }
    return std::make_shared<const Program>(std::move(target_));
  }

 private:
  // `names`: what each variable of `program` is called in the target.
  void add_equations(const Program& program, std::vector<Atom>& names, bool is_outermost) {
    const auto rename = [&](Atom atom) {
      if (atom.is_variable()) return names[atom.index];
      return is_outermost ? atom : add_literal(program.literals[atom.index]);
    };
    for (const Equation& equation : program.equations) {
      Equation copy = equation;
      for (Atom& input : copy.inputs) input = rename(input);
      if (const ProgramPtr body = body_of(equation)) {
        const std::vector<Atom> outputs = add_body(*body, copy.inputs);
        for (size_t i = 0; i < outputs.size(); ++i) names[equation.outputs[i]] = outputs[i];
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

  std::vector<Atom> add_body(const Program& body, const std::vector<Atom>& inputs) {
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

  uint32_t add_variable(ShapeDtype type) {
    target_.variable_types.push_back(type);
    return static_cast<uint32_t>(target_.variable_types.size() - 1);
  }
  Atom add_literal(const Literal& literal) {
    target_.literals.push_back(literal);
    return Atom::literal(static_cast<uint32_t>(target_.literals.size() - 1));
  }

  Program target_;
};

}  // namespace

ProgramPtr inline_calls(const ProgramPtr& program) {
  return has_calls(*program) ? Inliner(*program).run(*program) : program;
}

}  // namespace farcall::native
