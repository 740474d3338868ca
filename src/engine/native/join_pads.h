// A pass of the native engine: sums of padded arrays that do not overlap become concatenations.
#pragma once

#include <farcall/program/program.h>

namespace farcall::native {

// A sum of arrays that are padded with zeros along one dimension, of which no two have elements at
// the same place, becomes a concatenation. The gradient of a function of the elements of a short
// dimension is such a sum.
ProgramPtr join_pads(ProgramPtr program);

}  // namespace farcall::native
