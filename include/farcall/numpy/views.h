// Copies, and the bits of elements as those of another dtype (namespace farcall::numpy).
#pragma once

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::numpy {

// A copy of a concrete array in memory of its own, on the same devices and committed as `x` is.
// Returns a traced array unchanged. Raises FAILED_PRECONDITION for a deleted array.
FARCALL_API Array copy(const Array& x);
// The bits of `x` as elements of `dtype`, in little-endian order. If their sizes differ, the last
// dimension grows or shrinks. Raises INVALID_ARGUMENT if it does not hold a whole number of
// elements of `dtype`.
FARCALL_API Array view(const Array& x, DType dtype);
// The elements with their bytes in the opposite order; the parts of complex numbers one by one.
FARCALL_API Array byteswap(const Array& x);

}  // namespace farcall::numpy
