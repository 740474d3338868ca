// Both operands are cut into tiles of 64 bytes by 16. A tile of A has 16 rows of 64 bytes. A tile
// of B has a row for each four rows of B, with the four bytes of each of 16 columns side by side.
// AMX multiplies such tiles; VNNI multiplies four bytes of a row of A by a row of a tile of B.
#include "engine/native/kernels/products/byte_product.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <numeric>

#include <farcall/core/sizes.h>
#include <farcall/core/storage.h>

#include "engine/native/kernels/products/integer_parts.h"

namespace farcall::native {
namespace {

using Byte = uint8_t;  // of a signed or an unsigned integer

constexpr int64_t kRows = 16, kColumns = 16, kQuad = 4;
constexpr int64_t kDepth = 64;             // bytes of a row of a tile
constexpr int64_t kTile = kRows * kDepth;  // bytes of a tile
constexpr int64_t kMostDepth = 1024;       // summed before the next columns

// Sixteen rows of A and some columns: tiles one after the other, `step` bytes apart.
struct RowTiles {
  const Byte* first;
  int64_t stride, step;  // bytes between rows and between tiles
  int64_t count;         // of tiles
};

// Two tiles of rows and two of columns at most, and where their sums go: 16 by 16 each, added to
// what is there unless these are the first part of the sums.
struct Block {
  std::array<RowTiles, 2> rows;
  std::array<const Byte*, 2> columns;
  std::array<const int32_t*, 2> offsets;  // of each row, if the unit has them
  int32_t* sums;
  int64_t stride;
  bool is_first;
};

// ---- AMX

struct TileConfig {
  uint8_t palette = 1, start_row = 0;
  std::array<uint8_t, 14> reserved = {};
  std::array<uint16_t, 16> row_bytes = {};
  std::array<uint8_t, 16> rows = {};

  static constexpr TileConfig of_whole_tiles() {
    TileConfig config;
    std::fill_n(config.row_bytes.begin(), 8, uint16_t{kDepth});
    std::fill_n(config.rows.begin(), 8, uint8_t{kRows});
    return config;
  }
};
// In memory for good: GCC 12 takes the instruction to read only its first bytes.
alignas(64) constexpr TileConfig kWholeTiles = TileConfig::of_whole_tiles();
static_assert(sizeof(kWholeTiles) == 64);

// The compiler takes register numbers as literals alone.
#define FARCALL_MULTIPLY_TILES(sums, rows, columns) \
  if constexpr (kIsSigned) {                        \
    _tile_dpbssd(sums, rows, columns);              \
  } else {                                          \
    _tile_dpbuud(sums, rows, columns);              \
  }

// Registers 0 to 3 have the sums, 4 and 5 rows of A, 6 and 7 columns of B.
template <bool kIsSigned>
struct Amx {
  static constexpr bool kHasOffsets = false;
  static constexpr Byte kFlip = 0;

  // The state of this thread while it multiplies.
  class Use {
   public:
    [[gnu::target("amx-tile")]] Use() { _tile_loadconfig(&kWholeTiles); }
    [[gnu::target("amx-tile")]] ~Use() { _tile_release(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };

  template <int kRowTiles, int kColumnTiles>
  [[gnu::target("amx-tile,amx-int8")]] static void multiply(const Block& block) {
    constexpr bool kHasRows = kRowTiles == 2, kHasColumns = kColumnTiles == 2;
    const auto width = static_cast<size_t>(block.stride) * sizeof(int32_t);
    int32_t* const below = block.sums + kRows * block.stride;
    // GCC 12 does not know that loads of tiles read memory.
    __asm__ volatile("" ::: "memory");
    if (block.is_first) {
      _tile_zero(0);
      if constexpr (kHasColumns) _tile_zero(1);
      if constexpr (kHasRows) _tile_zero(2);
      if constexpr (kHasRows && kHasColumns) _tile_zero(3);
    } else {
      _tile_loadd(0, block.sums, width);
      if constexpr (kHasColumns) _tile_loadd(1, block.sums + kColumns, width);
      if constexpr (kHasRows) _tile_loadd(2, below, width);
      if constexpr (kHasRows && kHasColumns) _tile_loadd(3, below + kColumns, width);
    }
    const RowTiles &first = block.rows[0], &second = block.rows[1];
    for (int64_t i = 0; i < first.count; ++i) {
      _tile_loadd(4, first.first + i * first.step, static_cast<size_t>(first.stride));
      _tile_loadd(6, block.columns[0] + i * kTile, kDepth);
      FARCALL_MULTIPLY_TILES(0, 4, 6);
      if constexpr (kHasColumns) {
        _tile_loadd(7, block.columns[1] + i * kTile, kDepth);
        FARCALL_MULTIPLY_TILES(1, 4, 7);
      }
      if constexpr (kHasRows) {
        _tile_loadd(5, second.first + i * second.step, static_cast<size_t>(second.stride));
        FARCALL_MULTIPLY_TILES(2, 5, 6);
        if constexpr (kHasColumns) {
          FARCALL_MULTIPLY_TILES(3, 5, 7);
        }
      }
    }
    _tile_stored(0, block.sums, width);
    if constexpr (kHasColumns) _tile_stored(1, block.sums + kColumns, width);
    if constexpr (kHasRows) _tile_stored(2, below, width);
    if constexpr (kHasRows && kHasColumns) _tile_stored(3, below + kColumns, width);
  }
};

#undef FARCALL_MULTIPLY_TILES

// ---- VNNI

#define FARCALL_VNNI [[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]]

// The instruction takes unsigned bytes of B and signed ones of A: 128 is added to each byte of B,
// and 128 times the sum of the row of A is subtracted.
struct Vnni {
  static constexpr bool kHasOffsets = true;
  static constexpr Byte kFlip = 0x80;
  static constexpr int kRowsAtOnce = 8;

  struct Use {
    Use() {}  // NOLINT(modernize-use-equals-default): used for its lifetime alone
  };

  FARCALL_VNNI static int32_t offset_of(const RowTiles& tiles, int64_t row) {
    const __m512i all = _mm512_set1_epi8(static_cast<char>(kFlip));
    __m512i sum = _mm512_setzero_si512();
    for (int64_t i = 0; i < tiles.count; ++i) {
      const Byte* const at = tiles.first + i * tiles.step + row * tiles.stride;
      sum = _mm512_dpbusd_epi32(sum, all, _mm512_loadu_si512(at));
    }
    std::array<uint32_t, kColumns> parts;
    std::memcpy(parts.data(), &sum, sizeof(sum));
    return static_cast<int32_t>(0U - std::accumulate(parts.begin(), parts.end(), 0U));
  }

  template <int kColumnTiles>
  FARCALL_VNNI static void multiply_rows(const RowTiles& tiles, const Block& block,
                                         const int32_t* offsets, int64_t row, int32_t* to) {
    __m512i sums[kRowsAtOnce][kColumnTiles];
#pragma GCC unroll 8
    for (int i = 0; i < kRowsAtOnce; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kColumnTiles; ++j) sums[i][j] = _mm512_set1_epi32(offsets[row + i]);
    }
    for (int64_t tile = 0; tile < tiles.count; ++tile) {
      const Byte* const a = tiles.first + tile * tiles.step + row * tiles.stride;
      for (int64_t k = 0; k < kDepth; k += kQuad) {
        __m512i b[kColumnTiles];
#pragma GCC unroll 2
        for (int j = 0; j < kColumnTiles; ++j) {
          b[j] = _mm512_loadu_si512(block.columns[j] + tile * kTile + k * kColumns);
        }
#pragma GCC unroll 8
        for (int i = 0; i < kRowsAtOnce; ++i) {
          int32_t quad;
          std::memcpy(&quad, a + i * tiles.stride + k, sizeof(quad));
          const __m512i factor = _mm512_set1_epi32(quad);
#pragma GCC unroll 2
          for (int j = 0; j < kColumnTiles; ++j) {
            sums[i][j] = _mm512_dpbusd_epi32(sums[i][j], b[j], factor);
          }
        }
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kRowsAtOnce; ++i, to += block.stride) {
#pragma GCC unroll 2
      for (int j = 0; j < kColumnTiles; ++j) {
        int32_t* const at = to + j * kColumns;
        const __m512i before = block.is_first ? _mm512_setzero_si512() : _mm512_loadu_si512(at);
        _mm512_storeu_si512(at, _mm512_add_epi32(before, sums[i][j]));
      }
    }
  }

  template <int kRowTiles, int kColumnTiles>
  static void multiply(const Block& block) {
    for (int64_t i = 0; i < kRowTiles; ++i) {
      for (int64_t row = 0; row < kRows; row += kRowsAtOnce) {
        multiply_rows<kColumnTiles>(block.rows[i], block, block.offsets[i], row,
                                    block.sums + (i * kRows + row) * block.stride);
      }
    }
  }
};

#undef FARCALL_VNNI

// ---- both

// Sixteen columns of sixteen bytes become rows.
void transpose(const Byte* columns, int64_t stride, Byte* rows) {
  __m128i found[kRows], next[kRows];
  for (int64_t i = 0; i < kRows; ++i) {
    std::memcpy(&found[i], columns + i * stride, sizeof(__m128i));
  }
  for (int round = 0; round < 4; ++round) {
    for (int64_t i = 0; i < kRows / 2; ++i) {
      next[2 * i] = _mm_unpacklo_epi8(found[i], found[i + kRows / 2]);
      next[2 * i + 1] = _mm_unpackhi_epi8(found[i], found[i + kRows / 2]);
    }
    std::memcpy(found, next, sizeof(found));
  }
  for (int64_t i = 0; i < kRows; ++i) std::memcpy(rows + i * kDepth, &found[i], sizeof(__m128i));
}

// Some rows of A and at most kDepth columns, as a tile. What is after the last one is zero.
void pack_rows(const Matrix& matrix, int64_t rows, int64_t bytes, Byte* tile) {
  const auto* const a = static_cast<const Byte*>(matrix.data);
  if (rows < kRows || bytes < kDepth) std::fill_n(tile, kTile, Byte{0});
  if (matrix.column_stride == 1) {
    for (int64_t i = 0; i < rows; ++i) {
      std::copy_n(a + i * matrix.row_stride, bytes, tile + i * kDepth);
    }
    return;
  }
  int64_t j = 0;
  if (matrix.row_stride == 1 && rows == kRows) {
    for (; j + kRows <= bytes; j += kRows) {
      transpose(a + j * matrix.column_stride, matrix.column_stride, tile + j);
    }
  }
  for (; j < bytes; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      tile[i * kDepth + j] = a[i * matrix.row_stride + j * matrix.column_stride];
    }
  }
}

// Some rows of A. Whole ones can stay in place.
RowTiles row_tiles(const Matrix& matrix, int64_t rows, int64_t depth, bool may_stay, Byte* packed) {
  const int64_t count = pieces(depth, kDepth);
  const bool is_whole = rows == kRows && depth % kDepth == 0;
  if (may_stay && is_whole && matrix.column_stride == 1) {
    return {static_cast<const Byte*>(matrix.data), matrix.row_stride, kDepth, count};
  }
  for (int64_t k = 0; k < depth; k += kDepth) {
    pack_rows(moved<Byte>(matrix, k * matrix.column_stride), rows, std::min(kDepth, depth - k),
              packed + k * kRows);
  }
  return {packed, kDepth, kTile, count};
}

// Four rows of sixteen bytes, by columns.
void interleave(const Byte* rows, int64_t stride, Byte flip, Byte* to) {
  const auto load = [&](int64_t i) {
    __m128i row;
    std::memcpy(&row, rows + i * stride, sizeof(row));
    return _mm_xor_si128(row, _mm_set1_epi8(static_cast<char>(flip)));
  };
  const __m128i a = load(0), b = load(1), c = load(2), d = load(3);
  const __m128i first[] = {_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)};
  const __m128i second[] = {_mm_unpacklo_epi8(c, d), _mm_unpackhi_epi8(c, d)};
  for (int i = 0; i < 2; ++i, to += 2 * sizeof(__m128i)) {
    const __m128i found[] = {_mm_unpacklo_epi16(first[i], second[i]),
                             _mm_unpackhi_epi16(first[i], second[i])};
    std::memcpy(to, found, sizeof(found));
  }
}

// Four rows of some columns of B, in a tile. What is after the last column or row is the flip
// alone.
void pack_quads(const Matrix& matrix, int64_t columns, int64_t rows, Byte flip, Byte* packed) {
  const auto* const b = static_cast<const Byte*>(matrix.data);
  if (matrix.column_stride == 1 && columns == kColumns && rows == kQuad) {
    return interleave(b, matrix.row_stride, flip, packed);
  }
  if (matrix.row_stride == 1 && columns == kColumns && rows == kQuad) {
    constexpr uint32_t kEach = 0x01010101;
    for (int64_t j = 0; j < kColumns; ++j) {
      uint32_t quad;
      std::memcpy(&quad, b + j * matrix.column_stride, sizeof(quad));
      quad ^= kEach * flip;
      std::memcpy(packed + j * kQuad, &quad, sizeof(quad));
    }
    return;
  }
  std::fill_n(packed, kQuad * kColumns, flip);
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) {
      packed[j * kQuad + i] = b[i * matrix.row_stride + j * matrix.column_stride] ^ flip;
    }
  }
}

// Some columns of B, as one column of tiles after the other.
void pack_columns(const Matrix& matrix, int64_t columns, int64_t depth, Byte flip, Byte* packed) {
  const int64_t padded = pieces(depth, kDepth) * kDepth;
  // Columns of a line of the cache are read together.
  const int64_t together = matrix.column_stride == 1 ? 4 * kColumns : kColumns;
  for (int64_t first = 0; first < columns; first += together) {
    const int64_t end = std::min(first + together, columns);
    for (int64_t k = 0; k < padded; k += kQuad) {
      const int64_t rows = std::clamp(depth - k, int64_t{0}, kQuad);
      for (int64_t j = first; j < end; j += kColumns) {
        pack_quads(moved<Byte>(matrix, k * matrix.row_stride + j * matrix.column_stride),
                   std::min(end - j, kColumns), rows, flip, packed + j * padded + k * kColumns);
      }
    }
  }
}

// Where a thread packs parts of A and of B.
class Packed {
 public:
  Packed(int64_t rows, int64_t columns, int64_t depth)
      : offsets_at_(pieces(rows, kRows) * kRows * padded(depth)),
        columns_at_(offsets_at_ + pieces(rows, kRows) * kRows * int64_t{sizeof(int32_t)}),
        storage_(Storage::allocate(static_cast<size_t>(
            columns_at_ + pieces(columns, kColumns) * kColumns * padded(depth)))) {}

  static int64_t padded(int64_t depth) {
    return pieces(std::min(depth, kMostDepth), kDepth) * kDepth;
  }
  Byte* rows() { return static_cast<Byte*>(storage_.data()); }
  int32_t* offsets() { return reinterpret_cast<int32_t*>(rows() + offsets_at_); }
  Byte* columns() { return rows() + columns_at_; }

 private:
  int64_t offsets_at_, columns_at_;
  Storage storage_;
};

// The sums of a block that reaches past the result, through memory of its own.
template <class Multiply>
void multiply_edge(Block block, int64_t rows, int64_t columns, const Multiply& multiply) {
  alignas(64) int32_t sums[2 * kRows * 2 * kColumns];
  int32_t* const to = block.sums;
  const int64_t stride = block.stride;
  const bool is_first = block.is_first;
  block.sums = sums;
  block.stride = 2 * kColumns;
  block.is_first = true;
  multiply(block);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      int32_t& sum = to[i * stride + j];
      const auto before = is_first ? 0U : static_cast<uint32_t>(sum);
      sum = static_cast<int32_t>(before + static_cast<uint32_t>(sums[i * block.stride + j]));
    }
  }
}

// Two columns of tiles, in all rows of a part.
template <class Unit>
void multiply_columns(const Product& part, const RowTiles* tiles, const int32_t* offsets,
                      const Byte* packed, int64_t column, bool is_first) {
  const typename Unit::Use use;
  const int64_t columns = std::min(part.n - column, 2 * kColumns), stride = part.c_row_stride;
  auto* const sums = static_cast<int32_t*>(part.c) + column;
  const int64_t panel = tiles[0].count * kTile;
  for (int64_t row = 0; row < part.m; row += 2 * kRows) {
    const int64_t rows = std::min(part.m - row, 2 * kRows);
    const RowTiles* const found = tiles + row / kRows;
    const Block block = {{found[0], found[rows > kRows ? 1 : 0]},
                         {packed, packed + panel},
                         {offsets + row, offsets + row + kRows},
                         sums + row * stride,
                         stride,
                         is_first};
    const auto multiply = [&](const Block& block) {
      if (rows > kRows) {
        columns > kColumns ? Unit::template multiply<2, 2>(block)
                           : Unit::template multiply<2, 1>(block);
      } else {
        columns > kColumns ? Unit::template multiply<1, 2>(block)
                           : Unit::template multiply<1, 1>(block);
      }
    };
    if (rows % kRows == 0 && columns % kColumns == 0) {
      multiply(block);
    } else {
      multiply_edge(block, rows, columns, multiply);
    }
  }
}

constexpr int64_t kMostRows = 512, kMostColumns = 512;
// With fewer columns, rows of A are not read often enough to be packed.
constexpr int64_t kColumnsToPack = 256;

// Returns false if the program is to stop.
template <class Unit>
bool multiply_part(const Product& p, Packed& packed, Tiles& tiles) {
  std::array<RowTiles, kMostRows / kRows> rows;
  for (int64_t k = 0; k < p.k; k += kMostDepth) {
    const int64_t depth = std::min(kMostDepth, p.k - k), padded = Packed::padded(depth);
    const Matrix a = moved<Byte>(p.a, k * p.a.column_stride);
    const Matrix b = moved<Byte>(p.b, k * p.b.row_stride);
    for (int64_t row = 0; row < p.m; row += kRows) {
      RowTiles& found = rows[static_cast<size_t>(row / kRows)];
      found = row_tiles(moved<Byte>(a, row * a.row_stride), std::min(p.m - row, kRows), depth,
                        p.n < kColumnsToPack, packed.rows() + row * padded);
      if constexpr (Unit::kHasOffsets) {
        for (int64_t i = 0; i < kRows; ++i) packed.offsets()[row + i] = Unit::offset_of(found, i);
      }
    }
    pack_columns(b, p.n, depth, Unit::kFlip, packed.columns());
    for (int64_t column = 0; column < p.n; column += 2 * kColumns) {
      multiply_columns<Unit>(p, rows.data(), packed.offsets(), packed.columns() + column * padded,
                             column, k == 0);
      if (!tiles.go_on(p.m * depth)) return false;
    }
  }
  return true;
}

template <class Unit>
void multiply(const Product& p) {
  // These instructions do many operations at once, but the operands are packed.
  constexpr int64_t kOperations = 4, kPackCost = 16;
  const int64_t operations = saturated_product(saturated_product(p.m, p.n), p.k) / kOperations;
  const int64_t packing = saturated_product(saturated_sum(p.m, p.n), p.k);
  const int64_t cost = saturated_sum(operations, saturated_product(packing, kPackCost));
  multiply_in_parts<Byte>(
      p,
      {.step = {kRows, kColumns},
       .least = {2 * kRows, 2 * kColumns},
       .most = {kMostRows, kMostColumns},
       .num_of_thread = 2},
      num_threads_for(saturated_product(cost, p.batches.count)),
      [&](PartSizes sizes) { return Packed(sizes.rows, sizes.columns, p.k); }, multiply_part<Unit>);
}

}  // namespace

Multiply find_byte_product(DType operands, ByteInstructions unit) {
  const bool is_signed = operands == DType::kInt8;
  if (!is_signed && operands != DType::kUInt8) return nullptr;
  switch (unit) {
    case ByteInstructions::kAmx:
      return is_signed ? multiply<Amx<true>> : multiply<Amx<false>>;
    case ByteInstructions::kVnni:
      return is_signed ? multiply<Vnni> : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace farcall::native

#else

namespace farcall::native {

Multiply find_byte_product(DType, ByteInstructions) { return nullptr; }

}  // namespace farcall::native

#endif
