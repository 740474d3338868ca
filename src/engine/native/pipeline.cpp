#include "engine/native/pipeline.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <farcall/core/environment.h>
#include <farcall/primitives/primitives.h>
#include <farcall/primitives/structural.h>
#include <farcall/program/walk.h>

#include "engine/native/count_constants.h"
#include "engine/native/engine.h"
#include "engine/native/flatten_indices.h"
#include "engine/native/fold_transposes.h"
#include "engine/native/form_clusters.h"
#include "engine/native/join_pads.h"
#include "engine/native/narrow_products.h"
#include "engine/native/sink_slices.h"
#include "engine/native/sink_transposes.h"
#include "passes/internal/foreign.h"
#include "passes/internal/nested.h"

namespace farcall::native {

bool is_fusion_on() {
  static const bool is_on = environment_switch("FARCALL_FUSION", true);
  return is_on;
}

namespace {

// Turns broadcasts that only add dimensions of size one into reshapes, which are views. Excludes
// values that foreign calls read.
ProgramPtr view_broadcasts(ProgramPtr program) {
  program = pass_nested(std::move(program), view_broadcasts);
  const auto is_view = [&](const Equation& equation) {
    if (!try_params<BroadcastInDimParams>(equation.params.get())) return false;
    const int64_t size = program->type_of(equation.inputs[0]).size();
    return size > 1 && size == program->variable_types[equation.outputs[0]].size();
  };
  if (std::ranges::none_of(program->equations, is_view)) return program;
  const std::vector<bool> of_calls = values_of_calls(*program);
  const std::shared_ptr<Program> changed = to_change(std::move(program));
  program = changed;
  for (Equation& equation : changed->equations) {
    if (!is_view(equation) || of_calls[equation.outputs[0]]) continue;
    const auto shape = changed->variable_types[equation.outputs[0]].shape();
    equation.primitive = &kReshape;
    equation.params = make_params(ReshapeParams{Shape(shape.begin(), shape.end())});
  }
  return program;
}

}  // namespace

Passed run_passes(ProgramPtr program, const KnownProgramEvaluator& evaluate) {
  program = inline_calls(std::move(program));
  program = choose_platform(std::move(program), kPlatform);
  program = remove_dead_code(std::move(program));
  // Programs of one equation, such as eager operations, cannot be improved.
  if (nesting_of(*program).num_equations > 1) {
    program = fold_constants(std::move(program), evaluate);
    program = simplify(std::move(program));
    program = common_subexpressions(std::move(program));
    program = flatten_indices(std::move(program));
    program = join_pads(std::move(program));
    program = sink_slices(std::move(program));
    program = sink_transposes(std::move(program));
    program = fold_transposes(std::move(program));
    program = narrow_products(std::move(program));
  }
  program = count_constants(std::move(program));
  program = remove_barriers(std::move(program));
  program = remove_dead_code(std::move(program));
  program = view_broadcasts(std::move(program));
  return {program, is_fusion_on() ? form_clusters(program) : program};
}

}  // namespace farcall::native
