// Products by plain loops: of integers, bools, and complex matrices too large for BLAS's 32-bit
// sizes.
#pragma once

#include "engine/native/kernels/products/matrix_product.h"

namespace farcall::native {

// Unsigned integers and complex numbers.
template <class T>
void multiply_plain(const Product& product);

// Whether any pair of elements is true.
void multiply_bools(const Product& product);

}  // namespace farcall::native
