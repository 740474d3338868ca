#include "engine/native/kernels/products/plain_product.h"

#include <algorithm>
#include <complex>
#include <vector>

#include <farcall/core/sizes.h>

#include "engine/native/kernels/instruction_sets.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

// The block of B in use, and the rows of C next to each other, stay in the cache.
constexpr int64_t kInnerBlock = 64, kColumnBlock = 512, kRowBlock = 32;
// Rows of B that are added at once, so that sums are loaded and stored less often.
constexpr int64_t kAtOnce = 4;

struct NumberOps {
  template <class T>
  static T multiply_add(T a, T b, T sum) {
    return add(sum, multiply(a, b));
  }
};
struct BoolOps {
  static uint8_t multiply_add(uint8_t a, uint8_t b, uint8_t sum) { return sum | (a & b); }
};

// Adds the products of factors with as many rows, in this order. Rows are `stride` elements apart.
template <class T, class Ops>
void add_rows(const T* factors, int64_t num_rows, const T* rows, int64_t stride, T* sums,
              int64_t count) {
  for (; num_rows >= kAtOnce; num_rows -= kAtOnce, factors += kAtOnce, rows += kAtOnce * stride) {
    const T a = factors[0], b = factors[1], c = factors[2], d = factors[3];
    const T *second = rows + stride, *third = second + stride, *fourth = third + stride;
#pragma GCC ivdep
    for (int64_t n = 0; n < count; ++n) {
      T sum = Ops::multiply_add(a, rows[n], sums[n]);
      sum = Ops::multiply_add(b, second[n], sum);
      sum = Ops::multiply_add(c, third[n], sum);
      sums[n] = Ops::multiply_add(d, fourth[n], sum);
    }
  }
  for (; num_rows > 0; --num_rows, ++factors, rows += stride) {
    const T factor = *factors;
#pragma GCC ivdep
    for (int64_t n = 0; n < count; ++n) sums[n] = Ops::multiply_add(factor, rows[n], sums[n]);
  }
}

// Rows [first, last) of one product. Returns false if the program is to stop.
template <class T, class Ops>
bool multiply_rows(const Product& p, const T* a, const T* b, T* c, int64_t first, int64_t last,
                   std::vector<T>& packed, Tiles& tiles) {
  static const auto add = best_loop_of<add_rows<T, Ops>, T>();
  for (int64_t i = first; i < last; ++i) std::fill_n(c + i * p.c_row_stride, p.n, T(0));
  for (int64_t column = 0; column < p.n; column += kColumnBlock) {
    const int64_t num_columns = std::min(p.n - column, kColumnBlock);
    for (int64_t inner = 0; inner < p.k; inner += kInnerBlock) {
      const int64_t depth = std::min(p.k - inner, kInnerBlock);
      const T* block = b + inner * p.b.row_stride + column * p.b.column_stride;
      int64_t stride = p.b.row_stride;
      if (p.b.column_stride != 1) {
        packed.resize(static_cast<size_t>(depth * num_columns));
        for (int64_t n = 0; n < num_columns; ++n) {
          for (int64_t j = 0; j < depth; ++j) {
            packed[static_cast<size_t>(j * num_columns + n)] =
                block[j * p.b.row_stride + n * p.b.column_stride];
          }
        }
        block = packed.data();
        stride = num_columns;
      }
      for (int64_t i = first; i < last; ++i) {
        T factors[kInnerBlock];
        for (int64_t j = 0; j < depth; ++j) {
          factors[j] = a[i * p.a.row_stride + (inner + j) * p.a.column_stride];
        }
        add(factors, depth, block, stride, c + i * p.c_row_stride + column, num_columns);
      }
      if (!tiles.go_on((last - first) * depth * num_columns)) return false;
    }
  }
  return true;
}

template <class T, class Ops>
void multiply(const Product& p) {
  const int64_t down = (p.m - 1) / kRowBlock + 1;
  const int64_t cost = saturated_product(saturated_product(p.m, p.n), p.k);
  run_tiles(p.batches.count * down, num_threads_for(saturated_product(cost, p.batches.count)),
            [&](Tiles& tiles) {
              std::vector<T> packed;
              for (int64_t tile; tiles.next(tile);) {
                const int64_t batch = tile / down, first = tile % down * kRowBlock;
                const auto* a = static_cast<const T*>(p.a.data) + p.batches.a_offset(batch);
                const auto* b = static_cast<const T*>(p.b.data) + p.batches.b_offset(batch);
                auto* c = static_cast<T*>(p.c) + batch * p.m * p.c_row_stride;
                const int64_t last = std::min(first + kRowBlock, p.m);
                if (!multiply_rows<T, Ops>(p, a, b, c, first, last, packed, tiles)) return;
              }
            });
}

template <class T>
void multiply_row(T factor, const T* row, int64_t stride, int64_t count, T* to) {
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] = native::multiply(factor, row[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = native::multiply(factor, row[i * stride]);
  }
}

}  // namespace

template <class T>
void multiply_outer(const Product& p) {
  constexpr int64_t kTileElements = int64_t{1} << 15, kFewColumns = 16;
  const int64_t columns = std::min(p.n, kTileElements), rows = kTileElements / columns;
  const int64_t across = (p.n + columns - 1) / columns, down = (p.m + rows - 1) / rows;
  // A tile is a part of one product, or several products.
  const int64_t products = std::max(kTileElements / saturated_product(p.m, p.n), int64_t{1});
  static const auto multiply_long = best_loop_of<multiply_row<T>, T>();
  const auto multiply = p.n <= kFewColumns ? multiply_row<T> : multiply_long;
  const int64_t size = saturated_product(saturated_product(p.m, p.n), p.batches.count);
  const int64_t num_tiles = (p.batches.count + products - 1) / products * down * across;
  run_tiles(num_tiles, num_threads_for_elements(size), [&](Tiles& tiles) {
    for (int64_t i; tiles.next(i);) {
      const int64_t column = i % across * columns, first = i / across % down * rows;
      const int64_t last = std::min(first + rows, p.m), count = std::min(columns, p.n - column);
      const int64_t begin = i / across / down * products;
      const int64_t end = std::min(begin + products, p.batches.count);
      for (int64_t batch = begin; batch < end; ++batch) {
        const auto* a = static_cast<const T*>(p.a.data) + p.batches.a_offset(batch);
        const auto* b = static_cast<const T*>(p.b.data) + p.batches.b_offset(batch) +
                        column * p.b.column_stride;
        auto* c = static_cast<T*>(p.c) + batch * p.m * p.c_row_stride + column;
        for (int64_t row = first; row < last; ++row) {
          multiply(a[row * p.a.row_stride], b, p.b.column_stride, count, c + row * p.c_row_stride);
        }
      }
      if (!tiles.go_on((end - begin) * (last - first) * count * kStepCost)) return;
    }
  });
}

template <class T>
void multiply_plain(const Product& product) {
  multiply<T, NumberOps>(product);
}
void multiply_bools(const Product& product) { multiply<uint8_t, BoolOps>(product); }

template void multiply_outer<float>(const Product&);
template void multiply_outer<double>(const Product&);
template void multiply_outer<std::complex<float>>(const Product&);
template void multiply_outer<std::complex<double>>(const Product&);
template void multiply_plain<uint8_t>(const Product&);
template void multiply_plain<uint16_t>(const Product&);
template void multiply_plain<uint32_t>(const Product&);
template void multiply_plain<uint64_t>(const Product&);

}  // namespace farcall::native
