#include "engine/native/pipeline.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include <farcall/program/walk.h>

#include "engine/native/engine.h"
#include "engine/native/fold_transposes.h"
#include "engine/native/form_clusters.h"
#include "engine/native/sink_transposes.h"

namespace farcall::native {

bool is_fusion_on() {
  static const bool is_on = [] {
    const char* value = std::getenv("FARCALL_FUSION");
    return !value || std::string_view(value) != "0";
  }();
  return is_on;
}

Passed run_passes(ProgramPtr program, const KnownProgramEvaluator& evaluate) {
  program = inline_calls(std::move(program));
  program = choose_platform(std::move(program), kPlatform);
  program = remove_dead_code(std::move(program));
  // Programs of one equation, which eager operations are, have nothing to gain.
  if (nesting_of(*program).num_equations > 1) {
    program = fold_constants(std::move(program), evaluate);
    program = simplify(std::move(program));
    program = common_subexpressions(std::move(program));
    program = sink_transposes(std::move(program));
    program = fold_transposes(std::move(program));
  }
  program = remove_barriers(std::move(program));
  program = remove_dead_code(std::move(program));
  return {program, is_fusion_on() ? form_clusters(program) : program};
}

}  // namespace farcall::native
