// The passes that the native engine runs before it plans a program.
#pragma once

#include <farcall/passes/passes.h>
#include <farcall/program/program.h>

namespace farcall::native {

struct Passed {
  ProgramPtr unfused;  // as it is before the last pass, which forms clusters
  ProgramPtr program;
};

// With the programs in loops and branches treated too. Raises what choose_platform raises.
Passed run_passes(ProgramPtr program, const KnownProgramEvaluator& evaluate);

// Whether clusters are formed: unless the environment has FARCALL_FUSION=0, for tests and for
// finding errors.
bool is_fusion_on();

}  // namespace farcall::native
