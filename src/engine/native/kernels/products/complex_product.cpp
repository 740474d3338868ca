#include "engine/native/kernels/products/complex_product.h"

#include <algorithm>
#include <array>
#include <complex>

#include <farcall/core/sizes.h>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/instruction_sets.h"
#include "engine/native/kernels/products/buffer.h"
#include "engine/native/kernels/products/plain_product.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

// Several are in use at a time.
template <class T>
using SmallBuffer = Buffer<T, 8192>;

// A is read as a real matrix with two rows for each of its rows, the real parts and the imaginary
// ones; B as one with two columns for each of its columns. Where these rows or columns are dense,
// they are so in memory. Else they are split: parts of a row (of A, or of B transposed) become two
// rows.
Matrix with_real_rows(const Matrix& a) { return {a.data, 1, 2 * a.column_stride}; }
Matrix with_real_columns(const Matrix& b) { return {b.data, 2 * b.row_stride, 1}; }
Matrix transposed(const Matrix& matrix) {
  return {matrix.data, matrix.column_stride, matrix.row_stride};
}

template <class T>
void split(const std::complex<T>* from, int64_t count, T* real, T* imaginary) {
  const auto* parts = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < count; ++i) {
    real[i] = parts[2 * i];
    imaginary[i] = parts[2 * i + 1];
  }
}

// Rows [first, last) of a matrix.
template <class T>
void split_rows(const Matrix& matrix, int64_t columns, int64_t first, int64_t last, T* to) {
  static const auto split_dense = best_loop<split<T>>();
  const auto* from = static_cast<const std::complex<T>*>(matrix.data);
  for (int64_t i = first; i < last; ++i, to += 2 * columns) {
    const std::complex<T>* const row = from + i * matrix.row_stride;
    if (matrix.column_stride == 1) {
      split_dense(row, columns, to, to + columns);
      continue;
    }
    for (int64_t j = 0; j < columns; ++j) {
      to[j] = row[j * matrix.column_stride].real();
      to[columns + j] = row[j * matrix.column_stride].imag();
    }
  }
}

// Rows of a result, of the products of the parts of A with those of B.
template <class T>
void combine(const T* real, const T* imaginary, int64_t columns, T* to) {
  for (int64_t j = 0; j < 2 * columns; j += 2) {
    to[j] = real[j] - imaginary[j + 1];
    to[j + 1] = real[j + 1] + imaginary[j];
  }
}
template <class T>
void combine_rows(const T* products, int64_t columns, int64_t first, int64_t last,
                  std::complex<T>* to, int64_t stride) {
  static const auto combine_row = best_loop<combine<T>>();
  for (int64_t i = first; i < last; ++i) {
    const T* const row = products + 4 * i * columns;
    combine_row(row, row + 2 * columns, columns, reinterpret_cast<T*>(to + i * stride));
  }
}

// Calls work(first, last) for parts of `count` rows of `size` elements.
template <class Work>
void for_rows(int64_t count, int64_t size, const Work& work) {
  constexpr int64_t kTileElements = int64_t{1} << 14;
  const int64_t rows = std::max<int64_t>(kTileElements / size, 1);
  run_tiles(pieces(count, rows), num_threads_for_elements(saturated_product(count, size)),
            [&](Tiles& tiles) {
              for (int64_t i; tiles.next(i);) {
                const int64_t first = i * rows, last = std::min(first + rows, count);
                work(first, last);
                if (!tiles.go_on((last - first) * size * kStepCost)) return;
              }
            });
}

template <class T>
void multiply_real(const Product& product) {
  static const Multiply multiply = find_multiply(kDTypeOf<T>);
  multiply(product);
}

// The rows of a real product that stand for rows [first, last) of A.
template <class T>
void multiply_rows(const Product& p, const Matrix& b, int64_t first, int64_t last, T* rows,
                   T* products) {
  const bool has_rows = p.a.row_stride == 1;
  const int64_t count = last - first;
  const Matrix a = moved<std::complex<T>>(p.a, first * p.a.row_stride);
  if (!has_rows) {
    for_rows(count, p.k,
             [&](int64_t row, int64_t end) { split_rows(a, p.k, row, end, rows + 2 * row * p.k); });
  }
  multiply_real<T>({.m = 2 * count,
                    .k = p.k,
                    .n = 2 * p.n,
                    .a = has_rows ? with_real_rows(a) : Matrix{rows, p.k, 1},
                    .b = b,
                    .c = products,
                    .c_row_stride = 2 * p.n});
  auto* const c = static_cast<std::complex<T>*>(p.c) + first * p.c_row_stride;
  for_rows(count, p.n, [&](int64_t row, int64_t end) {
    combine_rows(products, p.n, row, end, c, p.c_row_stride);
  });
}

template <class T>
void multiply_one(const Product& p) {
  const bool has_rows = p.a.row_stride == 1, has_columns = p.b.column_stride == 1;
  SmallBuffer<T> columns(has_columns ? 0 : saturated_product(2 * p.k, p.n));
  if (!has_columns) {
    for_rows(p.n, p.k, [&](int64_t first, int64_t last) {
      split_rows(transposed(p.b), p.k, first, last, columns.data() + 2 * first * p.k);
    });
  }
  const Matrix b = has_columns ? with_real_columns(p.b) : Matrix{columns.data(), 1, p.k};
  // Large parts, each on all threads, or, where moving takes longer than multiplying, parts in the
  // second-level cache for each thread.
  constexpr int64_t kFewProducts = 32, kElements = int64_t{1} << 22;
  constexpr int64_t kElementsOfThread = int64_t{1} << 17;
  const bool is_shallow = p.k < kFewProducts;
  const int64_t elements_of_row = saturated_sum(has_rows ? 0 : 2 * p.k, 4 * p.n);
  const int64_t most = (is_shallow ? kElementsOfThread : kElements) / elements_of_row;
  const int64_t size = std::clamp<int64_t>(most, 1, p.m);
  const int64_t cost = saturated_product(saturated_product(p.m, p.n), kStepCost + 4 * p.k);
  run_tiles(pieces(p.m, size), is_shallow ? num_threads_for(cost) : 1, [&](Tiles& tiles) {
    SmallBuffer<T> rows(has_rows ? 0 : saturated_product(2 * p.k, size));
    SmallBuffer<T> products(saturated_product(4 * p.n, size));
    for (int64_t i; tiles.next(i);) {
      const int64_t first = i * size, last = std::min(first + size, p.m);
      multiply_rows(p, b, first, last, rows.data(), products.data());
      if (!tiles.go_on((last - first) * p.n * (kStepCost + 4 * p.k))) return;
    }
  });
}

// The products [first, last) of small matrices, one after the other in the memory that is given.
template <class T>
void multiply_some(const Product& p, int64_t first, int64_t last, T* rows, T* columns,
                   T* products) {
  const int64_t count = last - first;
  const std::array<int64_t, 1> sizes = {count}, a_strides = {2 * p.m * p.k},
                               b_strides = {2 * p.k * p.n};
  for (int64_t i = 0; i < count; ++i) {
    const Matrix a = moved<std::complex<T>>(p.a, p.batches.a_offset(first + i));
    const Matrix b = moved<std::complex<T>>(p.b, p.batches.b_offset(first + i));
    split_rows(a, p.k, 0, p.m, rows + i * a_strides[0]);
    split_rows(transposed(b), p.k, 0, p.n, columns + i * b_strides[0]);
  }
  multiply_real<T>({.m = 2 * p.m,
                    .k = p.k,
                    .n = 2 * p.n,
                    .a = {rows, p.k, 1},
                    .b = {columns, 1, p.k},
                    .c = products,
                    .c_row_stride = 2 * p.n,
                    .batches = {sizes, a_strides, b_strides, count}});
  for (int64_t i = 0; i < count; ++i) {
    auto* const c = static_cast<std::complex<T>*>(p.c) + (first + i) * p.m * p.c_row_stride;
    combine_rows(products + i * 4 * p.m * p.n, p.n, 0, p.m, c, p.c_row_stride);
  }
}

template <class T>
void multiply_batches(const Product& p) {
  // Those that a thread multiplies at a time.
  constexpr int64_t kElements = int64_t{1} << 15;
  const int64_t operands = saturated_product(saturated_sum(p.m, p.n), saturated_product(2, p.k));
  const int64_t results = saturated_product(saturated_product(4, p.m), p.n);
  const int64_t cost = saturated_product(results, p.k);
  const int64_t together = std::min(kElements / saturated_sum(operands, results),
                                    kThreadCost / saturated_product(2, cost));
  if (together < 1) {
    for (int64_t i = 0; i < p.batches.count; ++i) {
      multiply_one<T>(part_of<std::complex<T>>(p, {p.m, p.n}, i, 0, 0));
    }
    return;
  }
  const int64_t cost_of_one = saturated_sum(cost, kStepCost * (operands + results));
  const int64_t num_threads = num_threads_for(saturated_product(p.batches.count, cost_of_one));
  run_tiles(pieces(p.batches.count, together), num_threads, [&](Tiles& tiles) {
    SmallBuffer<T> rows(together * 2 * p.m * p.k), columns(together * 2 * p.k * p.n);
    SmallBuffer<T> products(together * results);
    for (int64_t i; tiles.next(i);) {
      const int64_t first = i * together, last = std::min(first + together, p.batches.count);
      multiply_some(p, first, last, rows.data(), columns.data(), products.data());
      if (!tiles.go_on((last - first) * cost_of_one)) return;
    }
  });
}

// A vector times dense columns, which are read twice in place: each part of the result is a real
// vector times a column of alternating parts.
template <class T>
void multiply_dense_columns(const Product& p) {
  SmallBuffer<T> rows(saturated_product(4, p.k)), products(2 * p.n);
  T* const real = rows.data();
  T* const imaginary = real + 2 * p.k;
  const auto* const a = static_cast<const std::complex<T>*>(p.a.data);
  for (int64_t j = 0; j < p.k; ++j) {
    const std::complex<T> x = a[j * p.a.column_stride];
    real[2 * j] = imaginary[2 * j + 1] = x.real();
    real[2 * j + 1] = -x.imag();
    imaginary[2 * j] = x.imag();
  }
  const std::array<int64_t, 1> sizes = {2}, a_strides = {2 * p.k}, b_strides = {0};
  multiply_real<T>({.m = 1,
                    .k = 2 * p.k,
                    .n = p.n,
                    .a = {rows.data(), 2 * p.k, 1},
                    .b = {p.b.data, 1, 2 * p.b.column_stride},
                    .c = products.data(),
                    .c_row_stride = p.n,
                    .batches = {sizes, a_strides, b_strides, 2}});
  auto* const c = static_cast<std::complex<T>*>(p.c);
  for (int64_t j = 0; j < p.n; ++j) c[j] = {products.data()[j], products.data()[p.n + j]};
}

}  // namespace

template <class T>
void multiply_complex(const Product& given) {
  if (given.k == 1) return multiply_outer<std::complex<T>>(given);
  const Product p = with_vector_first(given);
  if (p.k == 0) {
    for (int64_t i = 0; i < p.batches.count * p.m; ++i) {
      std::fill_n(static_cast<std::complex<T>*>(p.c) + i * p.c_row_stride, p.n, std::complex<T>());
    }
    return;
  }
  if (p.batches.count > 1) return multiply_batches<T>(p);
  is_dot(p) ? multiply_dense_columns<T>(p) : multiply_one<T>(p);
}

template void multiply_complex<float>(const Product&);
template void multiply_complex<double>(const Product&);

}  // namespace farcall::native
