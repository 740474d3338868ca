// A pass of the native engine: constants that count up are counted where they are read.
#pragma once

#include <farcall/program/program.h>

namespace farcall::native {

// A long constant 0, 1, 2, …, such as arange() makes, becomes an iota if only equations read it
// that may be in a cluster with it. It then takes no memory and no time to load.
ProgramPtr count_constants(ProgramPtr program);

}  // namespace farcall::native
