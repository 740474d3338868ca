// Products of integers of at most 16 bits, whose sums have at most 32.
#pragma once

#include "engine/native/kernels/products/matrix_product.h"

namespace farcall::native {

// A product of int8, uint8 or int16, whose results are int32. Sums wrap, so their lower bits are
// those of sums in a narrower type. Null for other types of operands, for results of more bits, and
// if the instruction set in use has no such products.
Multiply find_short_product(DType operands, DType results);

}  // namespace farcall::native
