// A pass of the native engine: products read transposed matrices in place.
#pragma once

#include <farcall/program/program.h>

namespace farcall::native {

// Replaces a dot_general of a transposed array by one of the array itself along other dimensions,
// and a transposed product by the product with its sides exchanged. This may change the order in
// which products of vectors are summed. The transposes stay: others may read them, or dead-code
// elimination removes them.
ProgramPtr fold_transposes(ProgramPtr program);

}  // namespace farcall::native
