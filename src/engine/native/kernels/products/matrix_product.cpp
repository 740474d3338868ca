#include "engine/native/kernels/products/matrix_product.h"

#include <algorithm>
#include <climits>
#include <complex>
#include <cstring>
#include <iterator>

#include <cblas.h>

#include <farcall/core/sizes.h>
#include <farcall/core/storage.h>

#include "core/internal/one_blas_thread.h"
#include "engine/native/kernels/elementwise/convert.h"
#include "engine/native/kernels/products/matrix_tile.h"
#include "engine/native/kernels/products/plain_product.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

// The fixed cost of a product, in operations.
constexpr int64_t kCallCost = 64;

// ---- float32 and float64: tiles of the result

// How the result is divided into tiles. Its bits do not depend on this, unless BLAS computes them.
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

int64_t pieces(int64_t size, int64_t piece) { return (size + piece - 1) / piece; }

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

// The tile of one product of the batch that begins at this row and column of the result.
template <class T>
Product part_of(const Product& p, const Cut& tile, int64_t batch, int64_t row, int64_t column) {
  const auto at = [](const Matrix& matrix, int64_t offset) {
    return Matrix{static_cast<const T*>(matrix.data) + offset, matrix.row_stride,
                  matrix.column_stride};
  };
  return {.m = std::min(tile.rows, p.m - row),
          .k = p.k,
          .n = std::min(tile.columns, p.n - column),
          .a = at(p.a, p.batches.a_offset(batch) + row * p.a.row_stride),
          .b = at(p.b, p.batches.b_offset(batch) + column * p.b.column_stride),
          .c = static_cast<T*>(p.c) + (batch * p.m + row) * p.c_row_stride + column,
          .c_row_stride = p.c_row_stride};
}

// A matrix times a vector is that vector times the transposed matrix.
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

// Memory for one thread: on the stack if small.
template <class T>
class Buffer {
 public:
  explicit Buffer(int64_t size) {
    if (static_cast<size_t>(size) <= std::size(few_)) return;
    storage_ = Storage::allocate(memory_product(static_cast<size_t>(size), sizeof(T)));
  }
  T* data() { return storage_ ? static_cast<T*>(storage_.data()) : few_; }

 private:
  alignas(kAlignment) T few_[32768 / sizeof(T)];
  Storage storage_;
};

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
      const Product part = part_of<T>(p, {rows, p.n, 1}, 0, i * rows, 0);
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
      Product part = part_of<T>(p, {p.m, columns, 1}, 0, 0, column);
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
    const Product part = part_of<T>(p, tile, batch, row, column);
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

// ---- complex numbers: BLAS

template <class T>
struct Blas;
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

// A matrix as BLAS describes it: row-major, or the transpose of one, with a leading dimension.
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

// y = A x, or y += A x. y is dense. Zeroes y and adds to it: some gemv kernels read y even if beta
// is 0.
template <class T>
void multiply_vector(const Matrix& a, int64_t rows, int64_t columns, const void* x,
                     int64_t x_stride, void* y, bool is_added) {
  const auto [transpose, leading] = blas_matrix(a);
  const bool is_transposed = transpose == CblasTrans;
  if (!is_added) std::memset(y, 0, static_cast<size_t>(rows) * sizeof(T));
  Blas<T>::gemv(CblasRowMajor, transpose, static_cast<blasint>(is_transposed ? columns : rows),
                static_cast<blasint>(is_transposed ? rows : columns), Blas<T>::kOne,
                static_cast<const T*>(a.data), leading, static_cast<const T*>(x),
                static_cast<blasint>(x_stride), Blas<T>::kOne, static_cast<T*>(y), 1);
}

// C = A B, or C += A B.
template <class T>
void multiply_part_by_blas(const Product& p, bool is_added) {
  if (p.n == 1 && p.c_row_stride == 1) {
    return multiply_vector<T>(p.a, p.m, p.k, p.b.data, p.b.row_stride, p.c, is_added);
  }
  if (p.m == 1) {
    const Matrix transposed = {p.b.data, p.b.column_stride, p.b.row_stride};
    return multiply_vector<T>(transposed, p.n, p.k, p.a.data, p.a.column_stride, p.c, is_added);
  }
  const auto a = blas_matrix(p.a), b = blas_matrix(p.b);
  Blas<T>::gemm(CblasRowMajor, a.transpose, b.transpose, static_cast<blasint>(p.m),
                static_cast<blasint>(p.n), static_cast<blasint>(p.k), Blas<T>::kOne,
                static_cast<const T*>(p.a.data), a.leading, static_cast<const T*>(p.b.data),
                b.leading, is_added ? Blas<T>::kOne : Blas<T>::kZero, static_cast<T*>(p.c),
                static_cast<blasint>(p.c_row_stride));
}

// Tiles that take some milliseconds each. They depend on the sizes alone, because the bits that a
// kernel of BLAS computes depend on the tile.
Cut cut_for_blas(const Product& p, int64_t depth) {
  constexpr int64_t kLeastCost = int64_t{1} << 22, kMostCost = int64_t{1} << 24;
  constexpr int64_t kTiles = 8, kRows = 128, kStep = 16;
  const int64_t cost = saturated_product(saturated_product(p.m, p.n), p.k);
  const int64_t area = std::clamp(cost / kTiles, kLeastCost, kMostCost) / depth;
  const auto whole_steps = [&](int64_t size) {
    return std::max<int64_t>(size - size % kStep, kStep);
  };
  const int64_t columns = std::min(p.n, whole_steps(area / std::min(p.m, kRows)));
  const int64_t rows = std::min(p.m, whole_steps(area / columns));
  return {rows, columns, std::max<int64_t>(kBriefCost / saturated_sum(cost, kCallCost), 1)};
}

template <class T>
void multiply_blas(const Product& p) {
  constexpr int64_t kMostDepth = int64_t{1} << 14;
  const int64_t depth = std::min(p.k, kMostDepth);
  const Cut tile = cut_for_blas(p, depth);
  const int64_t down = pieces(p.m, tile.rows), across = pieces(p.n, tile.columns);
  const int64_t cost = saturated_product(saturated_product(p.m, p.n), p.k);
  const auto multiply_tile = [&](const Product& whole, Tiles& tiles) {
    for (int64_t at = 0; at < p.k; at += depth) {
      Product part = whole;
      part.k = std::min(depth, p.k - at);
      part.a.data = static_cast<const T*>(whole.a.data) + at * whole.a.column_stride;
      part.b.data = static_cast<const T*>(whole.b.data) + at * whole.b.row_stride;
      multiply_part_by_blas<T>(part, at > 0);
      if (!tiles.go_on(part.m * part.n * part.k)) return false;
    }
    return true;
  };
  const OneBlasThread one_thread;
  run_tiles(pieces(p.batches.count, tile.batches) * down * across,
            num_threads_for(saturated_product(cost, p.batches.count)), [&](Tiles& tiles) {
              for (int64_t i; tiles.next(i);) {
                const int64_t column = i % across * tile.columns,
                              row = i / across % down * tile.rows;
                const int64_t first = i / across / down * tile.batches;
                const int64_t last = std::min(first + tile.batches, p.batches.count);
                for (int64_t batch = first; batch < last; ++batch) {
                  if (!multiply_tile(part_of<T>(p, tile, batch, row, column), tiles)) return;
                }
              }
            });
}

struct MultiplyRow {
  DType dtype;
  Multiply multiply;
  Multiply large = multiply;  // for sizes that do not fit BLAS's integers
};
constexpr MultiplyRow kMultiply[] = {
    {DType::kFloat32, multiply_tiled<float>},
    {DType::kFloat64, multiply_tiled<double>},
    {DType::kComplex64, multiply_blas<std::complex<float>>, multiply_plain<std::complex<float>>},
    {DType::kComplex128, multiply_blas<std::complex<double>>, multiply_plain<std::complex<double>>},
    {DType::kUInt8, multiply_plain<uint8_t>},
    {DType::kUInt16, multiply_plain<uint16_t>},
    {DType::kUInt32, multiply_plain<uint32_t>},
    {DType::kUInt64, multiply_plain<uint64_t>},
    {DType::kBool, multiply_bools},
};

}  // namespace

bool are_beside(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int64_t dense = 1;
  for (size_t i = sizes.size(); i-- > 0; dense *= sizes[i]) {
    if (sizes[i] != 1 && strides[i] != dense) return false;
  }
  return dense > 1;
}

Multiply find_multiply(DType compute, int64_t largest) {
  const DType key = is_integer(compute) ? unsigned_dtype(compute) : compute;
  const auto* row = std::ranges::find(kMultiply, key, &MultiplyRow::dtype);
  if (row == std::end(kMultiply)) return nullptr;
  return largest <= INT_MAX ? row->multiply : row->large;
}

}  // namespace farcall::native
