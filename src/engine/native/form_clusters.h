// The engine's last pass.
#pragma once

#include <farcall/passes/passes.h>

namespace farcall::native {

// Elementwise equations that read each other's results, with the broadcasts and the reductions of
// rows between them, become one `cluster` equation each, in loops and branches too. Every equation
// is in one cluster at most, so that nothing is computed twice, and the results are the same, bit
// by bit. Nothing moves past a foreign call, a loop, a branch or an update in place.
ProgramPtr form_clusters(ProgramPtr program);

}  // namespace farcall::native
