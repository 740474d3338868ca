// Factors and solutions of small matrices, for which calls of LAPACK take longer than the
// computation. The algorithms are those of its routines without blocks: potf2, getf2 and trsm.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "linalg/lapack.h"
#include "linalg/stack.h"

namespace farcall::linalg::small {

// Whether a matrix with these sides is small enough.
inline bool fits(int64_t m, int64_t n) { return m <= 8 && n <= 8; }

// Without C's rules for infinities and NaNs, which take a call.
template <class T>
T product(T x, T y) {
  if constexpr (lapack::kIsComplex<T>) {
    return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
  } else {
    return x * y;
  }
}
// Overwrites the lower triangle of a row-major Hermitian matrix with its Cholesky factor. Returns
// false if it is not positive definite.
template <class T>
bool factor_cholesky(int n, T* a) {
  for (int j = 0; j < n; ++j) {
    T* const pivot_row = a + j * n;
    lapack::Real<T> square = std::real(pivot_row[j]);
    for (int k = 0; k < j; ++k) square -= std::norm(pivot_row[k]);
    if (square <= 0) return false;  // NaN goes on, as in OpenBLAS
    const lapack::Real<T> root = std::sqrt(square);
    pivot_row[j] = root;
    for (int i = j + 1; i < n; ++i) {
      T* const row = a + i * n;
      T sum = row[j];
      for (int k = 0; k < j; ++k) sum -= product(row[k], conj(pivot_row[k]));
      row[j] = sum / root;
    }
  }
  return true;
}

// Overwrites a column-major matrix with its LU factors. Row i was exchanged with row pivots[i].
template <class T>
void factor_lu(int m, int n, T* a, int32_t* pivots) {
  for (int k = 0; k < m && k < n; ++k) {
    T* const column = a + k * m;
    int pivot = k;
    for (int i = k + 1; i < m; ++i) {
      if (size_of(column[i]) > size_of(column[pivot])) pivot = i;
    }
    pivots[k] = pivot;
    if (column[pivot] == T(0)) continue;
    for (int j = 0; pivot != k && j < n; ++j) std::swap(a[j * m + k], a[j * m + pivot]);
    for (int i = k + 1; i < m; ++i) column[i] /= column[k];
    for (int j = k + 1; j < n; ++j) {
      T* const other = a + j * m;
      for (int i = k + 1; i < m; ++i) other[i] -= product(column[i], other[k]);
    }
  }
}

// op(a), of a row-major triangular matrix.
template <class T>
struct Triangle {
  const T* a;
  int64_t row_step, column_step;
  bool is_lower, is_unit, is_conjugated;

  Triangle(const lapack::Triangle& how, const T* matrix, int lda)
      : a(matrix),
        row_step(how.transpose == CblasNoTrans ? lda : 1),
        column_step(how.transpose == CblasNoTrans ? 1 : lda),
        is_lower((how.part == CblasLower) == (how.transpose == CblasNoTrans)),
        is_unit(how.diagonal == CblasUnit),
        is_conjugated(how.transpose == CblasConjTrans) {}

  T operator()(int64_t row, int64_t column) const {
    const T element = a[row * row_step + column * column_step];
    return is_conjugated ? conj(element) : element;
  }
};

// Overwrites the n rows of b with op(a)^-1 b.
template <class T>
void solve_left(const Triangle<T>& a, int n, int columns, T* b, int64_t ldb) {
  for (int step = 0; step < n; ++step) {
    const int i = a.is_lower ? step : n - 1 - step;
    T* const row = b + i * ldb;
    for (int before = 0; before < step; ++before) {
      const int j = a.is_lower ? before : n - 1 - before;
      const T factor = a(i, j);
      const T* const other = b + j * ldb;
      for (int c = 0; c < columns; ++c) row[c] -= product(factor, other[c]);
    }
    if (a.is_unit) continue;
    const T pivot = a(i, i);
    for (int c = 0; c < columns; ++c) row[c] /= pivot;
  }
}

// Overwrites the rows of b, of n elements, with b op(a)^-1.
template <class T>
void solve_right(const Triangle<T>& a, int n, int rows, T* b, int64_t ldb) {
  for (int r = 0; r < rows; ++r) {
    T* const row = b + r * ldb;
    for (int step = 0; step < n; ++step) {
      const int j = a.is_lower ? n - 1 - step : step;
      T sum = row[j];
      for (int before = 0; before < step; ++before) {
        const int i = a.is_lower ? n - 1 - before : before;
        sum -= product(row[i], a(i, j));
      }
      row[j] = a.is_unit ? sum : sum / a(j, j);
    }
  }
}

// lapack::trsm(), also for small matrices.
template <class T>
void solve(const lapack::Triangle& how, int rows, int columns, const T* a, int lda, T* b, int ldb) {
  if (!fits(rows, columns)) return lapack::trsm(how, rows, columns, a, lda, b, ldb);
  const Triangle<T> op(how, a, lda);
  return how.side == CblasLeft ? solve_left(op, rows, columns, b, ldb)
                               : solve_right(op, columns, rows, b, ldb);
}

}  // namespace farcall::linalg::small
