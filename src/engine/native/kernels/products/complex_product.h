// Products of complex matrices, by products of real ones.
#pragma once

#include "engine/native/kernels/products/matrix_product.h"

namespace farcall::native {

// T is float or double, the type of the parts. An element of a product of matrices is made of four
// sums, so its bits do not depend on which operand is transposed.
template <class T>
void multiply_complex(const Product& product);

}  // namespace farcall::native
