// A pass of the native engine: indices of several components become numbers of elements or rows.
#pragma once

#include <farcall/program/program.h>

namespace farcall::native {

// A gather or scatter at many places, whose indices concatenate one array for each leading
// dimension, works on these dimensions as one: x[i, j] becomes x.reshape(-1)[i * n + j]. The
// elementwise operations on the indices can then be fused with those that compute them, and the
// indices need not be concatenated.
ProgramPtr flatten_indices(ProgramPtr program);

}  // namespace farcall::native
