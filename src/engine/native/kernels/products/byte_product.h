// Products of int8 and uint8 by the instructions that sum four products at once: AMX and AVX-512
// VNNI.
#pragma once

#include "engine/native/kernels/products/matrix_product.h"

namespace farcall::native {

// A product of int8 or uint8, whose results are int32. Sums wrap. Null for other types, and if the
// processor has no such instructions or FARCALL_ISA turns them off.
Multiply find_byte_product(DType operands);

}  // namespace farcall::native
