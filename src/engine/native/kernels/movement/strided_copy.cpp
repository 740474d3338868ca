#include "engine/native/kernels/movement/strided_copy.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include <farcall/core/error.h>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/movement/stores_past_caches.h"
#include "engine/native/kernels/vector/prefetch.h"
#include "engine/native/kernels/width.h"
#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

// Elements that a thread copies at a time. A dimension is divided at multiples of kPartUnit, the
// largest tile side of copy_transposed.
constexpr int64_t kTileElements = int64_t{1} << 15, kPartUnit = 64;

template <class T>
T load(const std::byte* source) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}
template <class T>
void store(std::byte* target, T value) {
  std::memcpy(target, &value, sizeof(T));
}

template <class T>
void copy_strided(const std::byte* source, int64_t source_step, std::byte* target,
                  int64_t target_step, int64_t size) {
  for (int64_t i = 0; i < size; ++i) {
    store(target + i * target_step, load<T>(source + i * source_step));
  }
}

template <class T>
void repeat(const std::byte* source, std::byte* target, int64_t size) {
  const T value = load<T>(source);
  for (int64_t i = 0; i < size; ++i) store(target + i * sizeof(T), value);
}

template <class T>
void reverse(const std::byte* source, std::byte* target, int64_t size) {
  constexpr auto kWidth = static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < size; ++i) store(target + i * kWidth, load<T>(source - i * kWidth));
}

// ---- large runs

// The bytes of a run from which memory is requested ahead. What is requested after the end of a run
// may be of no use.
constexpr int64_t kStreamedRun = 16 * kPrefetchDistance;

// Copies line by line. Stores gain most from requests ahead: a processor waits for the lines that
// it writes to one after the other, but requests many at a time.
void copy_lines(const std::byte* source, std::byte* target, int64_t nbytes) {
  for (int64_t at = 0; at < nbytes; at += kCacheLine) {
    prefetch_to_write(target + at + kPrefetchDistance);
    __builtin_prefetch(source + at + kPrefetchDistance);
    if (nbytes - at >= kCacheLine) {
      std::memcpy(target + at, source + at, kCacheLine);
    } else {
      std::memcpy(target + at, source + at, static_cast<size_t>(nbytes - at));
    }
  }
}

// ---- transposed

// A square block with 16 bytes per row: every instruction set has registers for that.
template <class T>
struct Block {
  static constexpr int64_t kSize = 16 / sizeof(T);
  using Row [[gnu::vector_size(16)]] = T;
  Row rows[kSize];

  // Interleaves the first halves (kFirst == 0) or the second halves of a and b.
  template <int kFirst, size_t... kAt>
  static Row in_turn(Row a, Row b, std::index_sequence<kAt...>) {
    return __builtin_shufflevector(a, b, (kFirst + int(kAt) / 2 + int(kAt) % 2 * int(kSize))...);
  }

  // Interleaving each row with the row half a block below, log2(kSize) times, transposes the block.
  void transpose() {
    constexpr auto kElements = std::make_index_sequence<kSize>();
    for (int64_t step = 1; step < kSize; step *= 2) {
      const Block old = *this;
      for (int64_t i = 0; i < kSize / 2; ++i) {
        const Row a = old.rows[i], b = old.rows[i + kSize / 2];
        rows[2 * i] = in_turn<0>(a, b, kElements);
        rows[2 * i + 1] = in_turn<kSize / 2>(a, b, kElements);
      }
    }
  }
};
template <>
struct Block<Wide> {
  static constexpr int64_t kSize = 1;
  Wide rows[kSize];
  void transpose() {}
};

// Up to this many rows of the source are copied one after the other; they are too few for tiles.
constexpr int64_t kFewRows = 8;

template <class T>
void copy_few_rows(const std::byte* source, int64_t source_step, int64_t rows, std::byte* target,
                   int64_t target_step, int64_t columns) {
  constexpr int64_t kColumns = 512;  // whose target stays in the cache
  for (int64_t first = 0; first < columns; first += kColumns) {
    const int64_t end = std::min(columns, first + kColumns);
    for (int64_t row = 0; row < rows; ++row) {
      const std::byte* const from = source + row * source_step;
      std::byte* const to = target + row * int64_t(sizeof(T));
      for (int64_t column = first; column < end; ++column) {
        const T element = load<T>(from + column * int64_t(sizeof(T)));
        std::memcpy(to + column * target_step, &element, sizeof(T));
      }
    }
  }
}

// Requests the tile of a matrix of elements of T after the one that begins at this row and column.
template <class T>
void request_next_tile(const std::byte* source, int64_t step, int64_t rows, int64_t columns,
                       int64_t row, int64_t column) {
  constexpr int64_t kTile = transposed_tile(sizeof(T));
  constexpr auto kWidth = static_cast<int64_t>(sizeof(T));
  column += kTile;
  if (column >= columns) row += kTile, column = 0;
  for (int64_t r = row; r < std::min(row + kTile, rows); ++r) {
    for (int64_t at = 0; at < kTile * kWidth; at += kCacheLine) {
      __builtin_prefetch(source + r * step + column * kWidth + at);
    }
  }
}

// The source is dense along rows, the target along columns. Tiles go through a buffer, so that each
// cache line of both sides is accessed at one time only: if strides are large powers of two, the
// lines of a tile share a few cache sets and would evict each other. If kAhead, the next tile of
// the source is requested ahead.
template <class T, bool kAhead = false>
void copy_transposed(const std::byte* source, int64_t source_step, int64_t rows, std::byte* target,
                     int64_t target_step, int64_t columns) {
  if (rows <= kFewRows) {
    return copy_few_rows<T>(source, source_step, rows, target, target_step, columns);
  }
  constexpr int64_t kTile = transposed_tile(sizeof(T));
  constexpr int64_t kSize = Block<T>::kSize;
  alignas(kCacheLine) T tile[kTile][kTile];
  const auto copy_tile = [&](int64_t row, int64_t column, auto num_rows, auto num_columns) {
    const auto line = [&](int64_t r, int64_t c) {
      return source + (row + r) * source_step + (column + c) * int64_t(sizeof(T));
    };
    const int64_t block_rows = num_rows / kSize * kSize;
    const int64_t block_columns = num_columns / kSize * kSize;
    for (int64_t r = 0; r < block_rows; r += kSize) {
      for (int64_t c = 0; c < block_columns; c += kSize) {
        Block<T> block;
        for (int64_t i = 0; i < kSize; ++i) std::memcpy(&block.rows[i], line(r + i, c), 16);
        block.transpose();
        for (int64_t i = 0; i < kSize; ++i) std::memcpy(&tile[c + i][r], &block.rows[i], 16);
      }
    }
    for (int64_t r = 0; r < num_rows; ++r) {
      for (int64_t c = r < block_rows ? block_columns : 0; c < num_columns; ++c) {
        tile[c][r] = load<T>(line(r, c));
      }
    }
    for (int64_t c = 0; c < num_columns; ++c) {
      std::byte* const to = target + (column + c) * target_step + row * int64_t(sizeof(T));
      std::memcpy(to, tile[c], static_cast<size_t>(num_rows) * sizeof(T));
    }
  };
  // Most tiles have this size, and are copied faster if the compiler knows it.
  constexpr std::integral_constant<int64_t, kTile> kWhole;
  for (int64_t row = 0; row < rows; row += kTile) {
    const int64_t num_rows = std::min(rows - row, kTile);
    for (int64_t column = 0; column < columns; column += kTile) {
      const int64_t num_columns = std::min(columns - column, kTile);
      if (kAhead) request_next_tile<T>(source, source_step, rows, columns, row, column);
      if (num_rows == kTile && num_columns == kTile) {
        copy_tile(row, column, kWhole, kWhole);
      } else {
        copy_tile(row, column, num_rows, num_columns);
      }
    }
  }
}

// Same, past the caches: each row of blocks is one cache line of the target, which is written from
// registers, and the next tile of the source is requested ahead. The target and its step are
// multiples of a cache line.
template <class T>
void copy_past_caches(const std::byte* source, int64_t source_step, int64_t rows, std::byte* target,
                      int64_t target_step, int64_t columns) {
  constexpr int64_t kTile = transposed_tile(sizeof(T)), kSize = Block<T>::kSize, kBlocks = 4;
  constexpr auto kWidth = static_cast<int64_t>(sizeof(T));
  const int64_t tile_rows = rows / kTile * kTile, tile_columns = columns / kTile * kTile;
  const auto copy_line = [&](int64_t row, int64_t column) {
    const std::byte* const from = source + row * source_step + column * kWidth;
    Block<T> blocks[kBlocks];
    for (int64_t i = 0; i < kBlocks; ++i) {
      for (int64_t r = 0; r < kSize; ++r) {
        std::memcpy(&blocks[i].rows[r], from + (i * kSize + r) * source_step, 16);
      }
      blocks[i].transpose();
    }
    for (int64_t c = 0; c < kSize; ++c) {
      std::byte* const to = target + (column + c) * target_step + row * kWidth;
      for (int64_t i = 0; i < kBlocks; ++i) store_past_caches(to + 16 * i, &blocks[i].rows[c], 16);
    }
  };
  for (int64_t row = 0; row < tile_rows; row += kTile) {
    for (int64_t column = 0; column < tile_columns; column += kTile) {
      request_next_tile<T>(source, source_step, rows, tile_columns, row, column);
      for (int64_t r = row; r < row + kTile; r += kBlocks * kSize) {
        for (int64_t c = column; c < column + kTile; c += kSize) copy_line(r, c);
      }
    }
  }
  finish_stores_past_caches();
  copy_transposed<T>(source + tile_columns * kWidth, source_step, tile_rows,
                     target + tile_columns * target_step, target_step, columns - tile_columns);
  copy_transposed<T>(source + tile_rows * source_step, source_step, rows - tile_rows,
                     target + tile_rows * kWidth, target_step, columns);
}

}  // namespace

void copy_transposed(size_t width, const void* source, int64_t source_step, int64_t rows,
                     void* target, int64_t target_step, int64_t columns) {
  visit_width(static_cast<int64_t>(width), [&]<class T>(T) {
    copy_transposed<T, true>(static_cast<const std::byte*>(source), source_step, rows,
                             static_cast<std::byte*>(target), target_step, columns);
  });
}

StridedCopy::StridedCopy(size_t width, std::span<const int64_t> shape,
                         std::span<const int64_t> source_strides,
                         std::span<const int64_t> target_strides)
    : width_(static_cast<int64_t>(width)) {
  if (width == 0) return;
  FARCALL_ASSERT(width <= 16 && std::has_single_bit(width));
  FARCALL_ASSERT(shape.size() <= kMaxRank);
  FARCALL_ASSERT(shape.size() == source_strides.size() && shape.size() == target_strides.size());
  if (std::ranges::find(shape, 0) != shape.end()) return;
  add_dimensions(shape, source_strides, target_strides);
  merge_dimensions();
  widen_elements();
  choose_inner();
  for (int i = 0; i < num_outer_; ++i) num_inner_ *= outer_[i].size;
  is_streamed_ = inner_ == Inner::kBytes && column_.size * width_ >= kStreamedRun &&
                 column_.size * width_ * num_inner_ >= kStreamedBytes;
  is_past_caches_ = inner_ == Inner::kTransposed && has_stores_past_caches() &&
                    column_.size * row_.size * width_ * num_inner_ >= kBytesPastCaches;
}

void StridedCopy::add_dimensions(std::span<const int64_t> shape,
                                 std::span<const int64_t> source_strides,
                                 std::span<const int64_t> target_strides) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    outer_[num_outer_++] = {shape[i], source_strides[i] * width_, target_strides[i] * width_};
  }
  std::stable_sort(outer_, outer_ + num_outer_, [](const Dimension& a, const Dimension& b) {
    return std::abs(a.target) > std::abs(b.target);
  });
}

// Merges neighbouring dimensions that both sides walk as one.
void StridedCopy::merge_dimensions() {
  int kept = 0;
  for (int i = 0; i < num_outer_; ++i) {
    const Dimension& next = outer_[i];
    if (kept > 0) {
      Dimension& last = outer_[kept - 1];
      if (last.source == next.source * next.size && last.target == next.target * next.size) {
        last = {last.size * next.size, next.source, next.target};
        continue;
      }
    }
    outer_[kept++] = next;
  }
  num_outer_ = kept;
}

// Turns a short run that is dense on both sides into one wider element.
void StridedCopy::widen_elements() {
  if (num_outer_ < 2) return;
  const Dimension& last = outer_[num_outer_ - 1];
  const int64_t run = last.size * width_;
  const bool is_dense = last.source == width_ && last.target == width_;
  if (is_dense && run <= 16 && std::has_single_bit(static_cast<uint64_t>(run))) {
    width_ = run;
    --num_outer_;
  }
}

void StridedCopy::choose_inner() {
  if (num_outer_ > 0) column_ = outer_[--num_outer_];
  if (column_.size == 1) column_.source = column_.target = width_;
  const bool is_target_dense = column_.target == width_;
  if (is_target_dense && column_.source == width_) {
    inner_ = Inner::kBytes;
    return;
  }
  if (is_target_dense && column_.source == 0) {
    inner_ = Inner::kRepeat;
    if (num_outer_ == 0 || !repeats_few(static_cast<size_t>(width_), column_.size)) return;
    const Dimension& last = outer_[num_outer_ - 1];
    if (last.source != width_ || last.target != column_.size * width_) return;
    inner_ = Inner::kRepeatEach;
    row_ = outer_[--num_outer_];
    return;
  }
  if (is_target_dense && column_.source == -width_) {
    inner_ = Inner::kReversed;
    return;
  }
  inner_ = Inner::kStrided;
  if (!is_target_dense) return;
  if (column_.source % width_ == 0) take_spaced_ = find_take_spaced(width_);
  for (int i = 0; i < num_outer_; ++i) {
    if (outer_[i].source != width_) continue;
    // This dimension is dense in the source; the innermost one is dense in the target.
    inner_ = Inner::kTransposed;
    row_ = outer_[i];
    std::copy(outer_ + i + 1, outer_ + num_outer_, outer_ + i);
    --num_outer_;
    return choose_transpose();
  }
}

void StridedCopy::choose_transpose() {
  constexpr int64_t kFew = 4;
  if (column_.size <= kFew && row_.target == column_.size * width_) {
    inner_ = Inner::kInterleaved;
    interleave_ = find_interleave(width_);
  } else if (row_.size <= kFew && column_.source == row_.size * width_) {
    inner_ = Inner::kDeinterleaved;
    take_spaced_ = find_take_spaced(width_);
  }
}

// Few rows of the source, whose elements are next to each other in the target; or the reverse.
void StridedCopy::run_few(const std::byte* source, std::byte* target, int64_t count) const {
  if (inner_ == Inner::kInterleaved) {
    const void* rows[4];
    for (int64_t i = 0; i < column_.size; ++i) rows[i] = source + i * column_.source;
    return interleave_(rows, column_.size, 0, count, target);
  }
  // Elements of all columns are taken while they are in the cache.
  constexpr int64_t kBlock = 1024;
  for (int64_t first = 0; first < count; first += kBlock) {
    for (int64_t i = 0; i < row_.size; ++i) {
      take_spaced_(source + i * row_.source + first * column_.source, row_.size,
                   std::min(kBlock, count - first),
                   target + i * row_.target + first * column_.target);
    }
  }
}

// Copies `count` elements of the inner dimension from `first` on, or `count` rows of the target.
void StridedCopy::run_inner(const std::byte* source, std::byte* target, int64_t first,
                            int64_t count) const {
  source += first * cut().source;
  target += first * cut().target;
  if (is_of_few()) return run_few(source, target, count);
  if (is_streamed_) return copy_lines(source, target, count * width_);
  if (inner_ == Inner::kBytes) {
    return copy_bytes(source, target, static_cast<size_t>(count * width_));
  }
  if (inner_ == Inner::kRepeatEach) {
    return repeat_elements(target, source, static_cast<size_t>(width_), count, column_.size);
  }
  visit_width(width_, [&]<class T>(T) {
    switch (inner_) {
      case Inner::kNothing:
      case Inner::kBytes:
      case Inner::kRepeatEach:
      case Inner::kInterleaved:
      case Inner::kDeinterleaved:
        return;
      case Inner::kRepeat:
        return repeat<T>(source, target, count);
      case Inner::kReversed:
        return reverse<T>(source, target, count);
      case Inner::kStrided:
        if (take_spaced_) return take_spaced_(source, column_.source / width_, count, target);
        return copy_strided<T>(source, column_.source, target, column_.target, count);
      case Inner::kTransposed: {
        const bool is_in_lines =
            (reinterpret_cast<uintptr_t>(target) | static_cast<uintptr_t>(row_.target)) %
                kCacheLine ==
            0;
        const auto copy = is_past_caches_ && is_in_lines ? copy_past_caches<T> : copy_transposed<T>;
        return copy(source, column_.source, column_.size, target, row_.target, count);
      }
    }
  });
}

// Makes the inner copies [first, last), numbered in row-major order of the outer dimensions; of
// each, `count` elements from `start` on.
void StridedCopy::run_some(const std::byte* source, std::byte* target, int64_t first, int64_t last,
                           int64_t start, int64_t count) const {
  int64_t index[kMaxRank + 2] = {};
  int64_t rest = first;
  for (int i = num_outer_ - 1; rest > 0; --i) {
    index[i] = rest % outer_[i].size;
    source += index[i] * outer_[i].source;
    target += index[i] * outer_[i].target;
    rest /= outer_[i].size;
  }
  for (int64_t at = first; at < last; ++at) {
    run_inner(source, target, start, count);
    for (int i = num_outer_ - 1; i >= 0; --i) {
      source += outer_[i].source;
      target += outer_[i].target;
      if (++index[i] < outer_[i].size) break;
      source -= outer_[i].source * outer_[i].size;
      target -= outer_[i].target * outer_[i].size;
      index[i] = 0;
    }
  }
}

void StridedCopy::run(const void* source, void* target) const {
  if (inner_ == Inner::kNothing) return;
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(target);
  const int64_t length = cut().size;
  const int64_t across = has_rows() ? row_.size * column_.size / length : 1;
  const int64_t elements = num_inner_ * length * across;
  if (elements < kPolledElements) return run_some(from, to, 0, num_inner_, 0, length);
  // A tile is several inner copies, or a part of one.
  const int64_t per_tile = std::max<int64_t>(1, kTileElements / (length * across));
  const int64_t part = std::max(kTileElements / across / kPartUnit, int64_t{1}) * kPartUnit;
  const int64_t parts = (length - 1) / part + 1;
  const int64_t num_tiles = ((num_inner_ - 1) / per_tile + 1) * parts;
  const bool is_simple = inner_ != Inner::kStrided && inner_ != Inner::kTransposed && !is_of_few();
  const int64_t num_threads = num_threads_for_elements(is_simple ? elements / 4 : elements);
  run_tiles(num_tiles, num_threads, [&](Tiles& tiles) {
    for (int64_t tile; tiles.next(tile);) {
      const int64_t first = tile / parts * per_tile, start = tile % parts * part;
      const int64_t last = std::min(num_inner_, first + per_tile);
      const int64_t count = std::min(part, length - start);
      run_some(from, to, first, last, start, count);
      if (!tiles.go_on((last - first) * count * across * kStepCost)) return;
    }
  });
}

}  // namespace farcall::native
