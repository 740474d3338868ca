#include "engine/native/kernels/products/matrix_product.h"

#include <algorithm>
#include <iterator>

#include <farcall/core/sizes.h>

#include "engine/native/kernels/elementwise/convert.h"
#include "engine/native/kernels/products/buffer.h"
#include "engine/native/kernels/products/complex_product.h"
#include "engine/native/kernels/products/matrix_tile.h"
#include "engine/native/kernels/products/plain_product.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

// The fixed cost of a product, in operations.
constexpr int64_t kCallCost = 64;

// ---- float32 and float64: tiles of the result

// How the result is divided into tiles. Its bits do not depend on this.
struct Cut {
  int64_t rows, columns;  // of a tile: multiples of the steps, or all
  int64_t batches;        // products per tile, if a tile is at least one product
};

// The cost of one multiplication: a vector times a matrix waits for memory, which is read once.
int64_t cost_of_one(const Product& p) { return p.m == 1 ? 16 : 2; }

// A product of a lower cost runs on one thread at once.
constexpr int64_t kBriefCost = int64_t{1} << 20;
int64_t brief_cost(const Product& p) {
  return std::min(kBriefCost, 2 * kThreadCost / cost_of_one(p));
}

// Divides into pieces of about equal size, at most `most` each.
int64_t even_piece(int64_t size, int64_t most, int64_t step) {
  if (size <= most) return size;
  return std::min(pieces(pieces(size, pieces(size, most)), step) * step, size);
}

Cut cut(const Product& p, int64_t num_threads, size_t width) {
  // The part of A that a tile packs fits in the second-level cache, and a tile takes at most some
  // milliseconds. The larger tiles are, the fewer times operands are packed.
  constexpr int64_t kMostRows = 384, kMostColumnBytes = 3072;
  constexpr int64_t kMostCost = int64_t{1} << 29;
  const int64_t cost = saturated_product(saturated_product(p.m, p.n), p.k);
  if (cost < brief_cost(p)) {
    return {p.m, p.n, std::max<int64_t>(brief_cost(p) / (cost + kCallCost), 1)};
  }
  int64_t rows = std::min(p.m, kMostRows), columns = p.n;
  if (p.m > kTileRowStep) {
    const int64_t most = kMostColumnBytes / static_cast<int64_t>(width);
    columns = even_piece(p.n, most, kTileColumnStep);
  }
  // Long runs of a row are read faster, but each thread should have some.
  const int64_t steps_of_thread = p.n / (2 * num_threads * kTileColumnStep);
  const int64_t column_step =
      p.m == 1 ? std::clamp<int64_t>(steps_of_thread, 1, 8) * kTileColumnStep : kTileColumnStep;
  const auto is_large = [&] {
    return saturated_product(saturated_product(rows, columns), p.k) > kMostCost;
  };
  const auto is_few = [&] {
    constexpr int64_t kTilesOfThread = 3;
    return num_threads > 1 && rows * columns * p.k > kThreadCost / 2 / cost_of_one(p) &&
           pieces(p.m, rows) * pieces(p.n, columns) * p.batches.count <
               kTilesOfThread * num_threads;
  };
  while (columns > column_step && (is_large() || (is_few() && columns >= 2 * rows))) {
    columns = even_piece(p.n, columns / 2, column_step);
  }
  while (rows > kTileRowStep && (is_large() || is_few())) {
    rows = even_piece(p.m, rows / 2, kTileRowStep);
  }
  // So few tiles are the same number for each thread, if possible.
  constexpr int64_t kFewTiles = 8;
  const int64_t others = pieces(p.n, columns) * p.batches.count;
  int64_t count = pieces(p.m, rows);
  for (int64_t i = 1; i < num_threads && count * others < kFewTiles * num_threads; ++i) {
    if (count * others % num_threads == 0) break;
    rows = even_piece(p.m, pieces(p.m, count + 1), kTileRowStep);
    count = pieces(p.m, rows);
  }
  return {even_piece(p.m, rows, kTileRowStep), columns, 1};
}

// A small product. Skips the computation of tile sizes.
template <class T>
void multiply_brief(const Product& p) {
  run_tiles(1, 1, [&p](Tiles& tiles) {
    if (is_dot(p)) return multiply_dense_columns<T>(p, tiles);
    Buffer<T> buffer(tile_buffer_size(p.m, p.k));
    multiply_tile<T>({.part = p, .is_of_row = p.m == 1}, buffer.data(), tiles);
  });
}

// ---- large products: the tiles share the rearranged columns of B

bool shares_columns(const Product& p) {
  constexpr int64_t kLeastSize = 256, kLeastCost = int64_t{1} << 27;
  return p.batches.count == 1 && std::min({p.m, p.k, p.n}) >= kLeastSize &&
         saturated_product(saturated_product(p.m, p.n), p.k) >= kLeastCost;
}

// The rows of a tile, at most `most`, with about the same number of tiles for each thread.
int64_t rows_for_threads(int64_t rows, int64_t most, int64_t num_threads) {
  constexpr int64_t kTilesOfThread = 4;  // another process may delay a thread
  const int64_t steps = pieces(rows, kTileRowStep);
  const int64_t least = std::max(pieces(rows, most), kTilesOfThread * num_threads);
  int64_t best = 0, best_sum = 0;  // of all tiles, if they were equal
  for (int64_t count = pieces(least, num_threads) * num_threads; count < 2 * least;
       count += num_threads) {
    const int64_t of_one = pieces(steps, count);
    if (best == 0 || of_one * count < best_sum) best = of_one, best_sum = of_one * count;
  }
  return std::min(best * kTileRowStep, rows);
}

// Multiplies by a part of B: all threads rearrange its columns first.
template <class T>
void multiply_shared(const Product& p, bool is_added, int64_t rows, int64_t num_threads,
                     T* columns) {
  run_tiles(pieces(p.k, kSumDepth) * kPackedParts, num_threads, [&](Tiles& tiles) {
    for (int64_t i; tiles.next(i);) {
      pack_columns(p, i, columns);
      if (!tiles.go_on(kSumDepth * p.n / kPackedParts * kStepCost)) return;
    }
  });
  run_tiles(pieces(p.m, rows), num_threads, [&](Tiles& tiles) {
    Buffer<T> buffer(tile_buffer_size(rows, p.k));
    for (int64_t i; tiles.next(i);) {
      const Product part = part_of<T>(p, {rows, p.n}, 0, i * rows, 0);
      multiply_tile<T>({.part = part, .packed_columns = columns, .is_added = is_added},
                       buffer.data(), tiles);
    }
  });
}

template <class T>
void multiply_large(const Product& p, int64_t num_threads) {
  // The rows of A that a tile rearranges fit in the second-level cache.
  constexpr int64_t kMostDepth = 4 * kSumDepth, kColumnsBytes = int64_t{8} << 20;
  constexpr int64_t kMostRows = 256;
  constexpr auto kWidth = static_cast<int64_t>(sizeof(T));
  const int64_t depth = std::min(p.k, kMostDepth);
  const int64_t columns = even_piece(p.n, kColumnsBytes / kWidth / depth, kTileColumnStep);
  const int64_t rows = rows_for_threads(p.m, kMostRows, num_threads);
  Buffer<T> packed(packed_size(columns, depth));
  for (int64_t column = 0; column < p.n; column += columns) {
    for (int64_t first = 0; first < p.k; first += depth) {
      Product part = part_of<T>(p, {p.m, columns}, 0, 0, column);
      part.k = std::min(depth, p.k - first);
      part.a.data = static_cast<const T*>(part.a.data) + first * p.a.column_stride;
      part.b.data = static_cast<const T*>(part.b.data) + first * p.b.row_stride;
      multiply_shared<T>(part, first > 0, rows, num_threads, packed.data());
    }
  }
}

// Whether these are dot products of vectors that lie beside each other.
bool are_vectors_beside(const Product& p) {
  return p.m == 1 && p.n == 1 && p.k > 1 && p.a.column_stride > 1 && p.b.row_stride > 1 &&
         are_beside(p.batches.sizes, p.batches.a_strides) &&
         are_beside(p.batches.sizes, p.batches.b_strides);
}

template <class T>
void multiply_all_beside(const Product& p) {
  constexpr int64_t kVectors = 256;  // that a thread multiplies at a time
  const int64_t count = p.batches.count;
  run_tiles(pieces(count, kVectors), num_threads_for_elements(saturated_product(count, p.k)),
            [&](Tiles& tiles) {
              for (int64_t tile; tiles.next(tile);) {
                const int64_t first = tile * kVectors, last = std::min(first + kVectors, count);
                multiply_vectors_beside<T>(p, first, last);
                if (!tiles.go_on(saturated_product(last - first, p.k))) return;
              }
            });
}

template <class T>
void multiply_tiled(const Product& given) {
  if (are_vectors_beside(given)) return multiply_all_beside<T>(given);
  if (given.k == 1) return multiply_outer<T>(given);
  const Product p = with_vector_first(given);
  if (p.k == 0) {
    for (int64_t i = 0; i < p.batches.count * p.m; ++i) {
      std::fill_n(static_cast<T*>(p.c) + i * p.c_row_stride, p.n, T(0));
    }
    return;
  }
  const int64_t cost = saturated_product(saturated_product(p.m, p.n), p.k);
  if (p.batches.count == 1 && cost < brief_cost(p)) return multiply_brief<T>(p);
  const int64_t num_threads =
      num_threads_for(saturated_product(saturated_product(cost, cost_of_one(p)), p.batches.count));
  if (shares_columns(p)) return multiply_large<T>(p, num_threads);
  const Cut tile = cut(p, num_threads, sizeof(T));
  const int64_t down = pieces(p.m, tile.rows), across = pieces(p.n, tile.columns);
  const auto multiply_part = [&](int64_t batch, int64_t row, int64_t column, T* buffer,
                                 Tiles& tiles) {
    const Product part = part_of<T>(p, {tile.rows, tile.columns}, batch, row, column);
    if (is_dot(p)) return multiply_dense_columns<T>(part, tiles);
    multiply_tile<T>({.part = part, .is_of_row = p.m == 1}, buffer, tiles);
  };
  run_tiles(pieces(p.batches.count, tile.batches) * down * across, num_threads, [&](Tiles& tiles) {
    Buffer<T> buffer(tile_buffer_size(tile.rows, p.k));
    for (int64_t i = 0; tiles.next(i);) {
      const int64_t column = i % across * tile.columns, row = i / across % down * tile.rows;
      const int64_t first = i / across / down * tile.batches;
      const int64_t last = std::min(first + tile.batches, p.batches.count);
      if (multiply_small<T>(p, first, last)) {
        if (!tiles.go_on((last - first) * (cost + kCallCost))) return;
        continue;
      }
      for (int64_t batch = first; batch < last && tiles.go_on(kCallCost); ++batch) {
        multiply_part(batch, row, column, buffer.data(), tiles);
      }
    }
  });
}

struct MultiplyRow {
  DType dtype;
  Multiply multiply;
};
constexpr MultiplyRow kMultiply[] = {
    {DType::kFloat32, multiply_tiled<float>},
    {DType::kFloat64, multiply_tiled<double>},
    {DType::kComplex64, multiply_complex<float>},
    {DType::kComplex128, multiply_complex<double>},
    {DType::kUInt8, multiply_plain<uint8_t>},
    {DType::kUInt16, multiply_plain<uint16_t>},
    {DType::kUInt32, multiply_plain<uint32_t>},
    {DType::kUInt64, multiply_plain<uint64_t>},
    {DType::kBool, multiply_bools},
};

}  // namespace

Product with_vector_first(const Product& p) {
  if (p.n != 1 || p.m == 1 || p.c_row_stride != 1) return p;
  return {.m = 1,
          .k = p.k,
          .n = p.m,
          .a = {p.b.data, p.b.column_stride, p.b.row_stride},
          .b = {p.a.data, p.a.column_stride, p.a.row_stride},
          .c = p.c,
          .c_row_stride = p.m,
          .batches = {p.batches.sizes, p.batches.b_strides, p.batches.a_strides, p.batches.count}};
}

bool are_beside(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int64_t dense = 1;
  for (size_t i = sizes.size(); i-- > 0; dense *= sizes[i]) {
    if (sizes[i] != 1 && strides[i] != dense) return false;
  }
  return dense > 1;
}

Multiply find_multiply(DType compute) {
  const DType key = is_integer(compute) ? unsigned_dtype(compute) : compute;
  const auto* row = std::ranges::find(kMultiply, key, &MultiplyRow::dtype);
  return row == std::end(kMultiply) ? nullptr : row->multiply;
}

}  // namespace farcall::native
