#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/products/matrix_tile.cpp"

#include "engine/native/kernels/products/matrix_tile.h"
#include "engine/native/kernels/vector/prefetch.h"
#include "engine/native/kernels/vector/targets.h"

#include <algorithm>
#include <cstring>

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "engine/native/kernels/products/partial-inl.h"
#include "engine/native/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Rows and vectors of sums that are kept in registers, beside one vector of A and kVectors of B:
// for 32 registers, and for 16.
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int64_t kRows = 8;
#else
constexpr int64_t kRows = 4;
#endif
constexpr int64_t kVectors = 3;
static_assert(kTileRowStep % kRows == 0);

// Where an operand is read, and its strides to the next row (or column) and to the next product.
template <class T>
struct Rows {
  const T* data;
  int64_t stride, depth_stride;
};
template <class T>
struct Columns {
  const T* data;
  int64_t depth_stride;
};
template <class T>
struct Result {
  T* data;
  int64_t row_stride;
  int64_t columns;  // the valid ones, of all vectors
  bool is_added;    // to the values there
};

// Multiplies kNumRows rows of A by kNumVectors vectors of B, the last of which may be partial. A
// packed A has kRows rows side by side.
template <int64_t kNumRows, int64_t kNumVectors, bool kIsPacked, bool kIsPartial, class T>
HWY_INLINE void multiply_block(Rows<T> a, Columns<T> b, int64_t depth, Result<T> result) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t row_stride = kIsPacked ? 1 : a.stride;
  const int64_t depth_stride = kIsPacked ? kRows : a.depth_stride;
  constexpr int64_t kLast = kNumVectors - 1;
  const int64_t num_last = result.columns - kLast * lanes;
  V sums[kNumRows][kNumVectors];
  for (auto& row : sums) {
    for (V& sum : row) sum = hn::Zero(d);
  }
  if (result.is_added) {
    // Prefetches the result, which takes as long to arrive as many products.
    for (int64_t i = 0; i < kNumRows; ++i) {
      for (int64_t v = 0; v < kNumVectors; ++v) {
        hwy::Prefetch(result.data + i * result.row_stride + v * lanes);
      }
    }
  }
  for (int64_t p = 0; p < depth; ++p) {
    V columns[kNumVectors];
#pragma GCC unroll 8
    for (int64_t v = 0; v < kNumVectors; ++v) {
      const T* const from = b.data + v * lanes;
      columns[v] = kIsPartial && v == kLast ? load_first(d, from, num_last) : hn::LoadU(d, from);
    }
#pragma GCC unroll 8
    for (int64_t i = 0; i < kNumRows; ++i) {
      const V factor = hn::Set(d, a.data[i * row_stride]);
#pragma GCC unroll 8
      for (int64_t v = 0; v < kNumVectors; ++v) {
        sums[i][v] = hn::MulAdd(factor, columns[v], sums[i][v]);
      }
    }
    a.data += depth_stride;
    b.data += b.depth_stride;
  }
#pragma GCC unroll 8
  for (int64_t i = 0; i < kNumRows; ++i) {
#pragma GCC unroll 8
    for (int64_t v = 0; v < kNumVectors; ++v) {
      T* const to = result.data + i * result.row_stride + v * lanes;
      if (kIsPartial && v == kLast) {
        const V sum =
            result.is_added ? hn::Add(load_first(d, to, num_last), sums[i][v]) : sums[i][v];
        store_first(sum, d, to, num_last);
      } else {
        hn::StoreU(result.is_added ? hn::Add(hn::LoadU(d, to), sums[i][v]) : sums[i][v], d, to);
      }
    }
  }
}

// Multiplies all rows of A by one panel of B.
template <int64_t kNumVectors, bool kIsPacked, bool kIsPartial, class T>
void multiply_panel(Rows<T> a, Columns<T> b, int64_t rows, int64_t depth, Result<T> result) {
  const auto advance = [&](int64_t count) {
    rows -= count;
    result.data += count * result.row_stride;
  };
  // Packed rows are stored in groups of kRows; the last group may have fewer.
  for (; rows >= kRows; advance(kRows)) {
    multiply_block<kRows, kNumVectors, kIsPacked, kIsPartial>(a, b, depth, result);
    a.data += kIsPacked ? kRows * depth : kRows * a.stride;
  }
  const int64_t row_stride = kIsPacked ? 1 : a.stride;
  if constexpr (kRows > 4) {
    if (rows >= 4) {
      multiply_block<4, kNumVectors, kIsPacked, kIsPartial>(a, b, depth, result);
      a.data += 4 * row_stride;
      advance(4);
    }
  }
  if (rows >= 2) {
    multiply_block<2, kNumVectors, kIsPacked, kIsPartial>(a, b, depth, result);
    a.data += 2 * row_stride;
    advance(2);
  }
  if (rows >= 1) multiply_block<1, kNumVectors, kIsPacked, kIsPartial>(a, b, depth, result);
}

template <bool kIsPacked, bool kIsPartial, class T>
void multiply_panel(int64_t num_vectors, Rows<T> a, Columns<T> b, int64_t rows, int64_t depth,
                    Result<T> result) {
  switch (num_vectors) {
    case 1:
      return multiply_panel<1, kIsPacked, kIsPartial>(a, b, rows, depth, result);
    case 2:
      return multiply_panel<2, kIsPacked, kIsPartial>(a, b, rows, depth, result);
    default:
      return multiply_panel<3, kIsPacked, kIsPartial>(a, b, rows, depth, result);
  }
}

template <bool kIsPacked, class T>
void multiply_panel(int64_t num_vectors, Rows<T> a, Columns<T> b, int64_t rows, int64_t depth,
                    Result<T> result) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  if (result.columns == num_vectors * lanes) {
    return multiply_panel<kIsPacked, false>(num_vectors, a, b, rows, depth, result);
  }
  multiply_panel<kIsPacked, true>(num_vectors, a, b, rows, depth, result);
}

// ---- operands brought into the order in which they are read

// Writes `count` dense lines side by side: to[p * width + i] = from[i * stride + p]. `width` >=
// count; columns from `count` on become zero.
template <class T>
void interleave(const T* from, int64_t stride, int64_t count, int64_t depth, int64_t width, T* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<T, 16 / sizeof(T)> d;
  constexpr int64_t kSide = 16 / sizeof(T);
  for (; i + kSide <= count; i += kSide) {
    const T* lines = from + i * stride;
    int64_t p = 0;
    for (; p + kSide <= depth; p += kSide) {
      T* const block = to + p * width + i;
      if constexpr (sizeof(T) == 8) {
        const auto a = hn::LoadU(d, lines + p), b = hn::LoadU(d, lines + stride + p);
        hn::StoreU(hn::InterleaveLower(d, a, b), d, block);
        hn::StoreU(hn::InterleaveUpper(d, a, b), d, block + width);
      } else {
        const auto a = hn::LoadU(d, lines + p), b = hn::LoadU(d, lines + stride + p);
        const auto c = hn::LoadU(d, lines + 2 * stride + p);
        const auto e = hn::LoadU(d, lines + 3 * stride + p);
        const auto ac = hn::InterleaveLower(d, a, c), be = hn::InterleaveLower(d, b, e);
        hn::StoreU(hn::InterleaveLower(d, ac, be), d, block);
        hn::StoreU(hn::InterleaveUpper(d, ac, be), d, block + width);
        const auto ac2 = hn::InterleaveUpper(d, a, c), be2 = hn::InterleaveUpper(d, b, e);
        hn::StoreU(hn::InterleaveLower(d, ac2, be2), d, block + 2 * width);
        hn::StoreU(hn::InterleaveUpper(d, ac2, be2), d, block + 3 * width);
      }
    }
    for (; p < depth; ++p) {
      for (int64_t j = 0; j < kSide; ++j) to[p * width + i + j] = lines[j * stride + p];
    }
  }
#endif
  for (; i < width; ++i) {
    for (int64_t p = 0; p < depth; ++p) to[p * width + i] = i < count ? from[i * stride + p] : T(0);
  }
}

// Copies `count` elements, a multiple of the vector's.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void copy_vectors(D d, const T* from, int64_t count, T* to) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < count; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
}

// The same from dense groups: to[p * width + i] = from[p * stride + i].
template <class T>
void gather_groups(const T* from, int64_t stride, int64_t count, int64_t depth, int64_t width,
                   T* to) {
  constexpr int64_t kAhead = 8, kLine = kCacheLine / sizeof(T);
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t p = 0; p < depth; ++p) {
    // The lines are too far apart for the hardware prefetcher.
    if (p + kAhead < depth) {
      const T* const next = from + (p + kAhead) * stride;
      for (int64_t i = 0; i < count; i += kLine) hwy::Prefetch(next + i);
    }
    // These are too short for calls of memcpy.
    if (count == kRows && width == kRows) {
      copy_vectors(hn::CappedTag<T, kRows>(), from + p * stride, kRows, to + p * width);
    } else if (count == width && count % lanes == 0) {
      copy_vectors(d, from + p * stride, count, to + p * width);
    } else {
      std::memcpy(to + p * width, from + p * stride, static_cast<size_t>(count) * sizeof(T));
      std::fill_n(to + p * width + count, width - count, T(0));
    }
  }
}

// Packs lines side by side: `stride` is the stride between lines, `depth_stride` that along a line.
template <class T>
void pack(const T* from, int64_t stride, int64_t depth_stride, int64_t count, int64_t depth,
          int64_t width, T* to) {
  if (depth_stride == 1) {
    interleave(from, stride, count, depth, width, to);
  } else {
    gather_groups(from, depth_stride, count, depth, width, to);
  }
}

// ---- tiles

// Reading rows that are far apart costs cache and TLB misses. Packing costs a pass over the
// operand, which pays if the operand is used often enough: at least `least_uses` times.
template <class T>
bool is_worth_packing(int64_t uses, int64_t least_uses, int64_t distance, int64_t size) {
  return uses >= least_uses && distance * static_cast<int64_t>(sizeof(T)) >= 1024 && size >= 8192;
}

// The panels of n columns: where panel i begins, where its columns end, and its columns in whole
// vectors. The last panels have one vector less, because a single one does not keep the processor
// busy.
template <class T>
struct Panels {
  int64_t n, lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  int64_t vectors = (n + lanes - 1) / lanes, count = (vectors + kVectors - 1) / kVectors;

  int64_t first(int64_t i) const {
    const int64_t missing = kVectors * count - vectors, narrow = i - (count - missing);
    return std::max<int64_t>(kVectors * i - std::clamp<int64_t>(narrow, 0, missing), 0) * lanes;
  }
  int64_t end(int64_t i) const { return std::min(n, first(i + 1)); }
  int64_t width(int64_t i) const { return first(i + 1) - first(i); }
};

// Packed panels of B lie one after the other, those of kSumDepth rows after those of the rows
// before.
template <class T>
int64_t packed_offset(const Panels<T>& panels, int64_t first_row, int64_t depth, int64_t panel) {
  return first_row * panels.first(panels.count) + depth * panels.first(panel);
}

// Dense rows are read one after the other, which is faster than panel by panel.
template <class T>
void pack_rows(const Product& p, const Panels<T>& panels, int64_t first, int64_t depth, int64_t row,
               int64_t end, T* packed) {
  const hn::ScalableTag<T> d;
  for (; row < end; ++row) {
    const T* const from = static_cast<const T*>(p.b.data) + (first + row) * p.b.row_stride;
    for (int64_t i = 0; i < panels.count; ++i) {
      const int64_t begin = panels.first(i), count = panels.end(i) - begin, width = panels.width(i);
      T* const to = packed + packed_offset(panels, first, depth, i) + row * width;
      if (count == width) {
        copy_vectors(d, from + begin, width, to);
      } else {
        std::fill_n(std::copy_n(from + begin, count, to), width - count, T(0));
      }
    }
  }
}

template <class T>
void pack_part(const Product& p, int64_t part, T* packed) {
  const int64_t first = part / kPackedParts * kSumDepth, at = part % kPackedParts;
  const int64_t depth = std::min(kSumDepth, p.k - first);
  const Panels<T> panels{p.n};
  const auto bound = [](int64_t size, int64_t i) { return size * i / kPackedParts; };
  if (p.b.column_stride == 1) {
    return pack_rows(p, panels, first, depth, bound(depth, at), bound(depth, at + 1), packed);
  }
  for (int64_t i = bound(panels.count, at); i < bound(panels.count, at + 1); ++i) {
    const T* const from = static_cast<const T*>(p.b.data) + first * p.b.row_stride +
                          panels.first(i) * p.b.column_stride;
    pack(from, p.b.column_stride, p.b.row_stride, panels.end(i) - panels.first(i), depth,
         panels.width(i), packed + packed_offset(panels, first, depth, i));
  }
}

template <class T>
void multiply_any(const Tile<T>& whole, T* buffer, Tiles& tiles) {
  const Product& tile = whole.part;
  const Matrix &a = tile.a, &b = tile.b;
  constexpr int64_t kLeastUses = 48;
  // Dense lines of A must be transposed, which takes longer.
  const int64_t uses_of_a = a.column_stride == 1 ? 2 * kLeastUses : kLeastUses;
  const int64_t depth_of_sum = std::min(tile.k, kSumDepth);
  const bool packs_a = is_worth_packing<T>(
      tile.n, uses_of_a, std::max(a.row_stride, a.column_stride), tile.m * depth_of_sum);
  const bool packs_b =
      !whole.packed_columns &&
      (b.column_stride != 1 ||
       is_worth_packing<T>(tile.m, kLeastUses, b.row_stride, tile.n * depth_of_sum));
  const Panels<T> panels{tile.n};
  for (int64_t first = 0; first < tile.k; first += kSumDepth) {
    const int64_t depth = std::min(kSumDepth, tile.k - first);
    if (!tiles.go_on(tile.m * tile.n * depth)) return;
    Rows<T> rows = {static_cast<const T*>(a.data) + first * a.column_stride, a.row_stride,
                    a.column_stride};
    T* free = buffer;
    if (packs_a) {
      for (int64_t i = 0; i < tile.m; i += kRows) {
        pack(rows.data + i * a.row_stride, a.row_stride, a.column_stride,
             std::min(kRows, tile.m - i), depth, kRows, free);
        free += kRows * depth;
      }
      rows.data = buffer;
    }
    const T* const from = static_cast<const T*>(b.data) + first * b.row_stride;
    auto* const c = static_cast<T*>(tile.c);
    for (int64_t i = 0; i < panels.count; ++i) {
      const int64_t j = panels.first(i), columns = panels.end(i) - j, width = panels.width(i);
      Columns<T> in = {from + j * b.column_stride, b.row_stride};
      if (whole.packed_columns) {
        in = {whole.packed_columns + packed_offset(panels, first, depth, i), width};
      } else if (packs_b) {
        // The panel stays in the first-level cache while all rows are multiplied by it.
        pack(in.data, b.column_stride, b.row_stride, columns, depth, width, free);
        in = {free, width};
      }
      const Result<T> result = {c + j, tile.c_row_stride, columns, whole.is_added || first > 0};
      if (packs_a) {
        multiply_panel<true>(width / panels.lanes, rows, in, tile.m, depth, result);
      } else {
        multiply_panel<false>(width / panels.lanes, rows, in, tile.m, depth, result);
      }
    }
  }
}

// One row of A times vectors of B; the last vector may be partial. Uses kRowSums partial sums in
// turn, because each addition must wait for the previous one to the same sum.
template <int64_t kNumVectors, bool kIsPartial, class T>
HWY_INLINE void multiply_row_block(Rows<T> a, Columns<T> b, int64_t depth, Result<T> result) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int64_t kLast = kNumVectors - 1;
  const int64_t num_last = result.columns - kLast * lanes;
  V sums[kRowSums][kNumVectors];
  for (auto& sum : sums) {
    for (V& each : sum) each = hn::Zero(d);
  }
  const auto add = [&](V(&sum)[kNumVectors], int64_t p) HWY_ATTR {
    const V factor = hn::Set(d, a.data[p * a.depth_stride]);
    const T* const row = b.data + p * b.depth_stride;
#pragma GCC unroll 8
    for (int64_t v = 0; v < kNumVectors; ++v) {
      const T* const from = row + v * lanes;
      const V column =
          kIsPartial && v == kLast ? load_first(d, from, num_last) : hn::LoadU(d, from);
      sum[v] = hn::MulAdd(factor, column, sum[v]);
    }
  };
  int64_t p = 0;
  for (; p + kRowSums <= depth; p += kRowSums) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < kRowSums; ++i) add(sums[i], p + i);
  }
#pragma GCC unroll 8
  for (int64_t i = 0; i < kRowSums - 1; ++i) {
    if (p + i < depth) add(sums[i], p + i);
  }
#pragma GCC unroll 8
  for (int64_t v = 0; v < kNumVectors; ++v) {
    const V sum = hn::Add(hn::Add(sums[0][v], sums[1][v]), hn::Add(sums[2][v], sums[3][v]));
    T* const to = result.data + v * lanes;
    if (kIsPartial && v == kLast) {
      const V all = result.is_added ? hn::Add(load_first(d, to, num_last), sum) : sum;
      store_first(all, d, to, num_last);
    } else {
      hn::StoreU(result.is_added ? hn::Add(hn::LoadU(d, to), sum) : sum, d, to);
    }
  }
}

template <bool kIsPartial, class T>
void multiply_row_block(int64_t num_vectors, Rows<T> a, Columns<T> b, int64_t depth,
                        Result<T> result) {
  switch (num_vectors) {
    case 1:
      return multiply_row_block<1, kIsPartial>(a, b, depth, result);
    case 2:
      return multiply_row_block<2, kIsPartial>(a, b, depth, result);
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
    case 3:
      return multiply_row_block<3, kIsPartial>(a, b, depth, result);
    default:
      return multiply_row_block<4, kIsPartial>(a, b, depth, result);
#endif
  }
}

template <class T>
void multiply_row(const Product& tile, Tiles& tiles) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int64_t kWide = kRows / 2;  // vectors whose sums fit in the registers
  const Matrix &a = tile.a, &b = tile.b;
  auto* const c = static_cast<T*>(tile.c);
  for (int64_t first = 0; first < tile.k; first += kSumDepth) {
    const int64_t depth = std::min(kSumDepth, tile.k - first);
    if (!tiles.go_on(tile.n * depth)) return;
    const Rows<T> row = {static_cast<const T*>(a.data) + first * a.column_stride, 0,
                         a.column_stride};
    const T* const from = static_cast<const T*>(b.data) + first * b.row_stride;
    for (int64_t j = 0; j < tile.n;) {
      const int64_t left = tile.n - j;
      const int64_t vectors = std::min(kWide, (left + lanes - 1) / lanes);
      const int64_t columns = std::min(vectors * lanes, left);
      const Columns<T> in = {from + j, b.row_stride};
      const Result<T> result = {c + j, 0, columns, first > 0};
      if (columns == vectors * lanes) {
        multiply_row_block<false>(vectors, row, in, depth, result);
      } else {
        multiply_row_block<true>(vectors, row, in, depth, result);
      }
      j += columns;
    }
  }
}

template <class T>
void multiply(const Tile<T>& tile, T* buffer, Tiles& tiles) {
  if (tile.is_of_row && tile.part.b.column_stride == 1) return multiply_row<T>(tile.part, tiles);
  return multiply_any(tile, buffer, tiles);
}

void multiply_float(const Tile<float>& tile, float* buffer, Tiles& tiles) {
  multiply(tile, buffer, tiles);
}
void multiply_double(const Tile<double>& tile, double* buffer, Tiles& tiles) {
  multiply(tile, buffer, tiles);
}
void pack_float(const Product& p, int64_t part, float* packed) { pack_part(p, part, packed); }
void pack_double(const Product& p, int64_t part, double* packed) { pack_part(p, part, packed); }
}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace farcall::native {
namespace {

HWY_EXPORT(multiply_float);
HWY_EXPORT(multiply_double);
HWY_EXPORT(pack_float);
HWY_EXPORT(pack_double);

int64_t rounded(int64_t size, int64_t step) { return (size + step - 1) / step * step; }

}  // namespace

int64_t tile_buffer_size(int64_t rows, int64_t depth) {
  // Room for all rows of A and one panel of B.
  return (rounded(rows, kTileRowStep) + kTileColumnStep) * std::min(depth, kSumDepth);
}

int64_t packed_size(int64_t columns, int64_t depth) {
  return rounded(columns, kTileColumnStep) * depth;
}

template <>
void pack_columns(const Product& p, int64_t part, float* packed) {
  HWY_DYNAMIC_DISPATCH(pack_float)(p, part, packed);
}
template <>
void pack_columns(const Product& p, int64_t part, double* packed) {
  HWY_DYNAMIC_DISPATCH(pack_double)(p, part, packed);
}

template <>
void multiply_tile(const Tile<float>& tile, float* buffer, Tiles& tiles) {
  HWY_DYNAMIC_DISPATCH(multiply_float)(tile, buffer, tiles);
}
template <>
void multiply_tile(const Tile<double>& tile, double* buffer, Tiles& tiles) {
  HWY_DYNAMIC_DISPATCH(multiply_double)(tile, buffer, tiles);
}
}  // namespace farcall::native
#endif
