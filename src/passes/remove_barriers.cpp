#include <algorithm>

#include <farcall/passes/passes.h>

#include "passes/inliner.h"
#include "passes/internal/nested.h"

namespace farcall {
namespace {

bool is_barrier(const Equation& equation) {
  return equation.primitive->kind == PrimitiveKind::kBarrier;
}

class BarrierRemover final : public Inliner {
 public:
  using Inliner::Inliner;

 private:
  std::optional<std::vector<Atom>> replacement(Equation& equation) override {
    if (is_barrier(equation)) return std::move(equation.inputs);
    if (has_regions(equation)) equation.params = pass_regions(equation, remove_barriers);
    return std::nullopt;
  }
};

}  // namespace

ProgramPtr remove_barriers(ProgramPtr program) {
  if (std::ranges::any_of(program->equations, is_barrier)) return BarrierRemover(*program).run();
  return pass_nested(std::move(program), remove_barriers);
}

}  // namespace farcall
