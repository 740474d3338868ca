// The precision of LAPACK's dtypes.
#pragma once

#include <farcall/core/dtype.h>

namespace farcall::linalg {

// The distance from 1 to the next larger number of this dtype, or of a complex dtype's parts.
double epsilon(DType dtype);

}  // namespace farcall::linalg
