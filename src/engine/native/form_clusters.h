// The engine's last pass.
#pragma once

#include <farcall/passes/passes.h>
#include <farcall/program/engine.h>

namespace farcall::native {

// Elementwise equations that read each other's results, with the broadcasts and the reductions of
// rows between them, become one `cluster` equation each, in loops and branches too. Every equation
// is in one cluster at most, so that nothing is computed twice, and the results are the same, bit
// by bit. Nothing moves past a foreign call, a loop, a branch or an update in place.
ProgramPtr form_clusters(ProgramPtr program);

// The clusters that it makes of this program and of those inside loops and branches, and why
// neighbours are not in one.
Fusion explain_clusters(const Program& program);

}  // namespace farcall::native
