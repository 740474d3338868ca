#include <algorithm>

#include <farcall/passes/passes.h>
#include <farcall/primitives/call.h>
#include <farcall/primitives/primitives.h>
#include <farcall/program/walk.h>

#include "passes/inliner.h"
#include "passes/internal/nested.h"

namespace farcall {
namespace {

class CallInliner final : public Inliner {
 public:
  using Inliner::Inliner;

 private:
  std::optional<std::vector<Atom>> replacement(Equation& equation) override {
    const ProgramPtr body = called_program(equation);
    if (body) {
      const auto* checkpoint = try_params<CheckpointParams>(equation.params.get());
      if (checkpoint && checkpoint->prevent_cse) set_apart(equation);
      return add_body(*body, equation.inputs);
    }
    if (has_regions(equation)) equation.params = pass_regions(equation, inline_calls);
    return std::nullopt;
  }

  // Passes the operands through a barrier, so that nothing computed from them is merged with
  // equations that read the operands directly.
  void set_apart(Equation& equation) {
    Equation barrier{.primitive = &kBarrier, .where = equation.where};
    for (Atom& input : equation.inputs) {
      if (!input.is_variable()) continue;
      barrier.inputs.push_back(input);
      barrier.outputs.push_back(add_variable(target_.variable_types[input.index]));
      input = Atom::variable(barrier.outputs.back());
    }
    if (!barrier.inputs.empty()) target_.equations.push_back(std::move(barrier));
  }
};

bool has_inlined_calls(const Program& program) {
  return std::ranges::any_of(program.equations, [](const Equation& equation) {
    return equation.primitive->body || has_regions(equation);
  });
}

bool has_calls(const Program& program) {
  return std::ranges::any_of(program.equations, [](const Equation& equation) {
    return called_program(equation) != nullptr;
  });
}

}  // namespace

ProgramPtr inline_calls(ProgramPtr program) {
  if (!has_inlined_calls(*program)) return program;
  if (!has_calls(*program)) return pass_nested(std::move(program), inline_calls);
  return CallInliner(*program).run();
}

}  // namespace farcall
