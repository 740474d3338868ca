// Products of matrices: by code of our own for float32 and float64, on several threads where that
// pays; by BLAS for complex numbers; by plain loops for all others.
#pragma once

#include <cstdint>
#include <span>

#include <farcall/core/dtype.h>

namespace farcall::native {

// One matrix in memory, strides in elements.
struct Matrix {
  const void* data;
  int64_t row_stride, column_stride;
};

// Products of one shape, numbered in the order of these dimensions. Strides are in elements; the
// results lie one after the other.
struct Batches {
  std::span<const int64_t> sizes, a_strides, b_strides;
  int64_t count = 1;  // the product of the sizes

  int64_t a_offset(int64_t index) const { return offset(a_strides, index); }
  int64_t b_offset(int64_t index) const { return offset(b_strides, index); }

 private:
  int64_t offset(std::span<const int64_t> strides, int64_t index) const {
    int64_t sum = 0;
    for (size_t i = sizes.size(); i-- > 0;) {
      sum += index % sizes[i] * strides[i];
      index /= sizes[i];
    }
    return sum;
  }
};

// C becomes A B; A is m by k, B k by n, none of them empty, C is row-major. One stride of A and one
// of B is 1.
struct Product {
  int64_t m, k, n;
  Matrix a, b;
  void* c;
  int64_t c_row_stride;
  Batches batches = {};
};
using Multiply = void (*)(const Product& product);

// Null when there is none for the dtype. `largest` is the greatest of all sizes and strides: BLAS
// takes 32-bit ones, beyond which plain loops serve.
Multiply find_multiply(DType compute, int64_t largest);

}  // namespace farcall::native
