// Kinds of arrays.
#pragma once

#include <farcall/core/dtype.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// True for floats and complex numbers.
inline bool is_inexact(const Array& x) { return is_floating(x.dtype()) || is_complex(x.dtype()); }

}  // namespace farcall::numpy
