// The product of two matrices, by BLAS where it has the type.
#pragma once

#include <cstdint>

#include <farcall/core/dtype.h>

namespace farcall::native {

// One matrix in memory, strides in elements.
struct Matrix {
  const void* data;
  int64_t row_stride, column_stride;
};

// C, dense and row-major, becomes A B; A is m by k, B k by n.
struct Product {
  int64_t m, k, n;
  Matrix a, b;
  void* c;
};
using Multiply = void (*)(const Product& product);

// Null when there is none for the dtype. `largest` is the greatest of all sizes and strides: BLAS
// takes 32-bit ones, beyond which plain loops serve.
Multiply find_multiply(DType compute, int64_t largest);

}  // namespace farcall::native
