// A pass of this engine: products read transposed matrices where they lie.
#pragma once

#include <farcall/program/program.h>

namespace farcall::native {

// A dot_general of a transposed array becomes one of the array itself, along other dimensions. So
// does a transposed product whose two sides change places. The products of vectors may be summed in
// another order then. The transposes stay, for others to read or to be removed as dead.
ProgramPtr fold_transposes(ProgramPtr program);

}  // namespace farcall::native
