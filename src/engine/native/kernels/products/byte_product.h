// Products of int8 and uint8 by the instructions that sum four products at once: AMX and AVX-512
// VNNI.
#pragma once

#include "engine/native/kernels/products/matrix_product.h"
#include "engine/native/kernels/vector/targets.h"

namespace farcall::native {

// A product of int8 or uint8, whose results are int32. Sums wrap. Null for other types, and where
// there are no such instructions.
Multiply find_byte_product(DType operands, ByteInstructions unit = byte_instructions());

}  // namespace farcall::native
