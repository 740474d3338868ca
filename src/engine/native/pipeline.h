// The passes that the native engine runs before it plans a program.
#pragma once

#include <farcall/passes/passes.h>
#include <farcall/program/program.h>

namespace farcall::native {

struct Passed {
  ProgramPtr unfused;  // before the last pass, which forms clusters
  ProgramPtr program;
};

// Also transforms the programs in loops and branches. Raises what choose_platform raises.
Passed run_passes(ProgramPtr program, const KnownProgramEvaluator& evaluate);

// Whether clusters are formed: true unless the environment variable FARCALL_FUSION is off, for
// tests and debugging. Raises INVALID_ARGUMENT, on each call, for a wrong value.
bool is_fusion_on();

}  // namespace farcall::native
