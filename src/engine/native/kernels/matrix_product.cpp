#include "engine/native/kernels/matrix_product.h"

#include <algorithm>
#include <climits>
#include <complex>
#include <cstring>

#include <cblas.h>

#include "engine/native/kernels/arithmetic.h"
#include "engine/native/kernels/convert.h"
#include "engine/native/kernels/interruptible.h"

namespace farcall::native {
namespace {

// ---- BLAS

template <class T>
struct Blas;
template <>
struct Blas<float> {
  static constexpr auto gemm = cblas_sgemm;
  static constexpr auto gemv = cblas_sgemv;
  static constexpr float kOne = 1, kZero = 0;
};
template <>
struct Blas<double> {
  static constexpr auto gemm = cblas_dgemm;
  static constexpr auto gemv = cblas_dgemv;
  static constexpr double kOne = 1, kZero = 0;
};
template <>
struct Blas<std::complex<float>> {
  static constexpr auto gemm = cblas_cgemm;
  static constexpr auto gemv = cblas_cgemv;
  static constexpr float kOneValue[2] = {1, 0}, kZeroValue[2] = {0, 0};
  static constexpr const void* kOne = kOneValue;
  static constexpr const void* kZero = kZeroValue;
};
template <>
struct Blas<std::complex<double>> {
  static constexpr auto gemm = cblas_zgemm;
  static constexpr auto gemv = cblas_zgemv;
  static constexpr double kOneValue[2] = {1, 0}, kZeroValue[2] = {0, 0};
  static constexpr const void* kOne = kOneValue;
  static constexpr const void* kZero = kZeroValue;
};

// How BLAS names a matrix: row-major, or the transpose of one, with a leading dimension.
struct BlasMatrix {
  CBLAS_TRANSPOSE transpose;
  blasint leading;
};

BlasMatrix blas_matrix(const Matrix& matrix) {
  if (matrix.column_stride == 1) {
    return {CblasNoTrans, static_cast<blasint>(matrix.row_stride)};
  }
  return {CblasTrans, static_cast<blasint>(matrix.column_stride)};
}

// y = A x, where y is dense. Only adds to y: not every gemv clears what it is told to ignore.
template <class T>
void multiply_vector(const Matrix& a, int64_t rows, int64_t columns, const void* x,
                     int64_t x_stride, void* y) {
  const auto [transpose, leading] = blas_matrix(a);
  const bool is_transposed = transpose == CblasTrans;
  std::memset(y, 0, static_cast<size_t>(rows) * sizeof(T));
  Blas<T>::gemv(CblasRowMajor, transpose, static_cast<blasint>(is_transposed ? columns : rows),
                static_cast<blasint>(is_transposed ? rows : columns), Blas<T>::kOne,
                static_cast<const T*>(a.data), leading, static_cast<const T*>(x),
                static_cast<blasint>(x_stride), Blas<T>::kOne, static_cast<T*>(y), 1);
}

template <class T>
void multiply_blas(const Product& p) {
  if (p.n == 1) {
    return multiply_vector<T>(p.a, p.m, p.k, p.b.data, p.b.row_stride, p.c);
  }
  if (p.m == 1) {
    const Matrix transposed = {p.b.data, p.b.column_stride, p.b.row_stride};
    return multiply_vector<T>(transposed, p.n, p.k, p.a.data, p.a.column_stride, p.c);
  }
  const auto a = blas_matrix(p.a), b = blas_matrix(p.b);
  Blas<T>::gemm(CblasRowMajor, a.transpose, b.transpose, static_cast<blasint>(p.m),
                static_cast<blasint>(p.n), static_cast<blasint>(p.k), Blas<T>::kOne,
                static_cast<const T*>(p.a.data), a.leading, static_cast<const T*>(p.b.data),
                b.leading, Blas<T>::kZero, static_cast<T*>(p.c), static_cast<blasint>(p.n));
}

// ---- plain loops: integers, bools, and what is too large for BLAS's 32-bit sizes

struct NumberOps {
  template <class T>
  static T multiply_add(T a, T b, T sum) {
    return add(sum, multiply(a, b));
  }
};
struct BoolOps {
  static uint8_t multiply_add(uint8_t a, uint8_t b, uint8_t sum) { return sum | (a & b); }
};

// In blocks, so that the rows of B and C that are worked on stay in the cache.
template <class T, class Ops>
void multiply_plain(const Product& p) {
  constexpr int64_t kInnerBlock = 64, kColumnBlock = 512;
  const auto* a = static_cast<const T*>(p.a.data);
  const auto* b = static_cast<const T*>(p.b.data);
  auto* c = static_cast<T*>(p.c);
  std::fill_n(c, p.m * p.n, T(0));
  InterruptCounter counter;
  for (int64_t column = 0; column < p.n; column += kColumnBlock) {
    const int64_t num_columns = std::min(p.n - column, kColumnBlock);
    for (int64_t inner = 0; inner < p.k; inner += kInnerBlock) {
      const int64_t inner_end = std::min(p.k, inner + kInnerBlock);
      for (int64_t i = 0; i < p.m; ++i) {
        T* sums = c + i * p.n + column;
        counter.add((inner_end - inner) * num_columns);
        for (int64_t j = inner; j < inner_end; ++j) {
          const T factor = a[i * p.a.row_stride + j * p.a.column_stride];
          const T* row = b + j * p.b.row_stride + column * p.b.column_stride;
          if (p.b.column_stride == 1) {
            for (int64_t n = 0; n < num_columns; ++n) {
              sums[n] = Ops::multiply_add(factor, row[n], sums[n]);
            }
          } else {
            for (int64_t n = 0; n < num_columns; ++n) {
              sums[n] = Ops::multiply_add(factor, row[n * p.b.column_stride], sums[n]);
            }
          }
        }
      }
    }
  }
}

struct MultiplyRow {
  DType dtype;
  Multiply blas;  // null: none
  Multiply plain;
};
constexpr MultiplyRow kMultiply[] = {
    {DType::kFloat32, multiply_blas<float>, multiply_plain<float, NumberOps>},
    {DType::kFloat64, multiply_blas<double>, multiply_plain<double, NumberOps>},
    {DType::kComplex64, multiply_blas<std::complex<float>>,
     multiply_plain<std::complex<float>, NumberOps>},
    {DType::kComplex128, multiply_blas<std::complex<double>>,
     multiply_plain<std::complex<double>, NumberOps>},
    {DType::kUInt8, nullptr, multiply_plain<uint8_t, NumberOps>},
    {DType::kUInt16, nullptr, multiply_plain<uint16_t, NumberOps>},
    {DType::kUInt32, nullptr, multiply_plain<uint32_t, NumberOps>},
    {DType::kUInt64, nullptr, multiply_plain<uint64_t, NumberOps>},
    {DType::kBool, nullptr, multiply_plain<uint8_t, BoolOps>},
};

}  // namespace

Multiply find_multiply(DType compute, int64_t largest) {
  const DType key = is_integer(compute) ? unsigned_dtype(compute) : compute;
  const auto* row = std::ranges::find(kMultiply, key, &MultiplyRow::dtype);
  if (row == std::end(kMultiply)) return nullptr;
  return row->blas && largest <= INT_MAX ? row->blas : row->plain;
}

}  // namespace farcall::native
