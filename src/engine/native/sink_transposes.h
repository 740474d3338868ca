// A pass of this engine: elementwise work on transposed arrays is done where the arrays lie.
#pragma once

#include <farcall/program/program.h>

namespace farcall::native {

// Elementwise equations on arrays that are all transposed in the same way work on the arrays
// themselves, and their result is transposed, wherever fewer transposes are left that way.
ProgramPtr sink_transposes(ProgramPtr program);

}  // namespace farcall::native
