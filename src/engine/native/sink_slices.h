// A pass of the native engine: elementwise operations of which only slices are read work on slices.
#pragma once

#include <farcall/program/program.h>

namespace farcall::native {

// Where only slices of the result of an elementwise equation are read, and they have no more
// elements than the result, the equation works on slices of its operands. Slices of concatenations
// and of padded arrays are then the operands of those. Operands that were part of the same cluster
// stay so.
ProgramPtr sink_slices(ProgramPtr program);

}  // namespace farcall::native
