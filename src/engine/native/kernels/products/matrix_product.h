// Matrix products, on several threads if that pays: of float32 and float64 by vectorized tiles, of
// complex numbers by real products, of all others by plain loops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <farcall/core/dtype.h>

namespace farcall::native {

// A matrix in memory; strides count elements.
struct Matrix {
  const void* data;
  int64_t row_stride, column_stride;
};

// Products of one shape, numbered in row-major order of these dimensions. Strides count elements;
// the results are contiguous.
struct Batches {
  std::span<const int64_t> sizes, a_strides, b_strides;
  int64_t count = 1;  // the product of the sizes

  int64_t a_offset(int64_t index) const { return offset(a_strides, index); }
  int64_t b_offset(int64_t index) const { return offset(b_strides, index); }

 private:
  int64_t offset(std::span<const int64_t> strides, int64_t index) const {
    if (sizes.empty()) return 0;
    int64_t sum = 0;
    for (size_t i = sizes.size(); i-- > 1; index /= sizes[i]) sum += index % sizes[i] * strides[i];
    return sum + index * strides[0];
  }
};

// C = A B. A is m by k, B is k by n, none is 0, and C is row-major. One stride of A and one
// stride of B is 1.
struct Product {
  int64_t m, k, n;
  Matrix a, b;
  void* c;
  int64_t c_row_stride;
  Batches batches = {};
};
// The matrix that begins so many elements of type T later.
template <class T>
Matrix moved(const Matrix& matrix, int64_t elements) {
  return {static_cast<const T*>(matrix.data) + elements, matrix.row_stride, matrix.column_stride};
}

constexpr int64_t pieces(int64_t size, int64_t piece) { return (size + piece - 1) / piece; }

struct PartSizes {
  int64_t rows, columns;
};
// The part of one product that begins at this row and column of its result, of at most these sizes.
// The elements of the operands are of type T, those of the result of type C.
template <class T, class C = T>
Product part_of(const Product& p, PartSizes most, int64_t batch, int64_t row, int64_t column) {
  return {.m = std::min(most.rows, p.m - row),
          .k = p.k,
          .n = std::min(most.columns, p.n - column),
          .a = moved<T>(p.a, p.batches.a_offset(batch) + row * p.a.row_stride),
          .b = moved<T>(p.b, p.batches.b_offset(batch) + column * p.b.column_stride),
          .c = static_cast<C*>(p.c) + (batch * p.m + row) * p.c_row_stride + column,
          .c_row_stride = p.c_row_stride};
}

// Whether this is a vector times a matrix with dense columns.
inline bool is_dot(const Product& p) {
  return p.m == 1 && p.a.column_stride == 1 && p.b.row_stride == 1 && p.b.column_stride >= p.k;
}
// A matrix times a vector is that vector times the transposed matrix.
Product with_vector_first(const Product& p);
// Whether the strides of batch dimensions are those of vectors one element apart.
bool are_beside(std::span<const int64_t> sizes, std::span<const int64_t> strides);
using Multiply = void (*)(const Product& product);

// Returns null if the dtype has no product.
Multiply find_multiply(DType compute);

}  // namespace farcall::native
