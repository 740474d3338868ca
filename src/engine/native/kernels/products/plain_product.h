// Products by plain loops: of integers, bools, and columns times rows.
#pragma once

#include "engine/native/kernels/products/matrix_product.h"

namespace farcall::native {

// Unsigned integers.
template <class T>
void multiply_plain(const Product& product);

// Products with k = 1: nothing is summed, so a product of zeros keeps its sign.
template <class T>
void multiply_outer(const Product& product);

// Whether any pair of elements is true.
void multiply_bools(const Product& product);

}  // namespace farcall::native
