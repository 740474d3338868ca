// A pass of the native engine: elementwise operations on transposed arrays work on the arrays
// before the transposes.
#pragma once

#include <farcall/program/program.h>

namespace farcall::native {

// Elementwise equations whose operands are all transposed in the same way work on the arrays
// themselves, and the result is transposed, if fewer transposes are left that way.
ProgramPtr sink_transposes(ProgramPtr program);

}  // namespace farcall::native
