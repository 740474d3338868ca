// A pass of the native engine: products read integers of few bits in place.
#pragma once

#include <farcall/program/program.h>

namespace farcall::native {

// A product or convolution of integers that are converted from int8, uint8 or int16 reads the
// original ones. Its operands then have another type than its result.
ProgramPtr narrow_products(ProgramPtr program);

}  // namespace farcall::native
