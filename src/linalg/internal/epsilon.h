// How exact the dtypes of LAPACK are.
#pragma once

#include <farcall/core/dtype.h>

namespace farcall::linalg {

// The distance from one to the next larger number of this dtype, or of its parts.
double epsilon(DType dtype);

}  // namespace farcall::linalg
