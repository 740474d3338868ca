// The passes that the native engine runs before it plans a program.
#pragma once

#include <farcall/passes/passes.h>
#include <farcall/program/program.h>

namespace farcall::native {

// With the programs in loops and branches treated too. Raises what choose_platform raises.
ProgramPtr run_passes(ProgramPtr program, const KnownProgramEvaluator& evaluate);

}  // namespace farcall::native
