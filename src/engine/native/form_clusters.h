// The last pass of the native engine.
#pragma once

#include <farcall/passes/passes.h>
#include <farcall/program/engine.h>

namespace farcall::native {

// Combines elementwise equations that read each other's results, with the broadcasts and row
// reductions between them, into `cluster` equations, in loops and branches too. Every equation is
// in at most one cluster, so nothing is computed twice, and the results are the same bit by bit.
// Nothing moves past a foreign call, a loop, a branch or an update in place.
ProgramPtr form_clusters(ProgramPtr program);

// The clusters that form_clusters makes of this program and of those inside loops and branches, and
// why neighbouring equations are not in one cluster.
Fusion explain_clusters(const Program& program);

}  // namespace farcall::native
