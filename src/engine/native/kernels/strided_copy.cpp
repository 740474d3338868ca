#include "engine/native/kernels/strided_copy.h"
#include "engine/native/kernels/interruptible.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include <farcall/core/error.h>

#include "engine/native/kernels/width.h"

namespace farcall::native {
namespace {

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

// source[row][column] lies densely along columns, target along rows. Tiles go through a buffer, so
// that each cache line of both sides is touched in one go: where strides are large powers of two,
// the lines of a tile share a few cache sets and would push each other out.
template <class T>
void copy_transposed(const std::byte* source, int64_t source_step, int64_t rows, std::byte* target,
                     int64_t target_step, int64_t columns) {
  constexpr int64_t kTile = sizeof(T) == 1 ? 64 : (sizeof(T) == 16 ? 16 : 32);
  T tile[kTile][kTile];
  InterruptCounter counter;
  for (int64_t row = 0; row < rows; row += kTile) {
    const int64_t num_rows = std::min(rows - row, kTile);
    counter.add(num_rows * columns);
    for (int64_t column = 0; column < columns; column += kTile) {
      const int64_t num_columns = std::min(columns - column, kTile);
      for (int64_t r = 0; r < num_rows; ++r) {
        const std::byte* line = source + (row + r) * source_step + column * sizeof(T);
        for (int64_t c = 0; c < num_columns; ++c) tile[c][r] = load<T>(line + c * sizeof(T));
      }
      for (int64_t c = 0; c < num_columns; ++c) {
        std::memcpy(target + (column + c) * target_step + row * sizeof(T), tile[c],
                    static_cast<size_t>(num_rows) * sizeof(T));
      }
    }
  }
}

}  // namespace

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

// Neighbours that both sides walk as one become one.
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

// A short run that is dense on both sides becomes one wider element.
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
    return;
  }
  inner_ = Inner::kStrided;
  if (!is_target_dense) return;
  for (int i = 0; i < num_outer_; ++i) {
    if (outer_[i].source != width_) continue;
    // Rows of the source are the dense dimension of the target.
    inner_ = Inner::kTransposed;
    row_ = outer_[i];
    std::copy(outer_ + i + 1, outer_ + num_outer_, outer_ + i);
    --num_outer_;
    return;
  }
}

void StridedCopy::run_inner(const std::byte* source, std::byte* target) const {
  switch (inner_) {
    case Inner::kNothing:
      return;
    case Inner::kBytes:
      in_pieces(column_.size, [&](int64_t first, int64_t count) {
        std::memcpy(target + first * width_, source + first * width_,
                    static_cast<size_t>(count * width_));
      });
      return;
    case Inner::kRepeat:
      visit_width(width_, [&](auto element) {
        in_pieces(column_.size, [&](int64_t first, int64_t count) {
          repeat<decltype(element)>(source, target + first * width_, count);
        });
      });
      return;
    case Inner::kStrided:
      visit_width(width_, [&](auto element) {
        in_pieces(column_.size, [&](int64_t first, int64_t count) {
          copy_strided<decltype(element)>(source + first * column_.source, column_.source,
                                          target + first * column_.target, column_.target, count);
        });
      });
      return;
    case Inner::kTransposed:
      visit_width(width_, [&](auto element) {
        copy_transposed<decltype(element)>(source, column_.source, column_.size, target,
                                           row_.target, row_.size);
      });
      return;
  }
}

void StridedCopy::run(const void* source, void* target) const {
  if (inner_ == Inner::kNothing) return;
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(target);
  int64_t index[kMaxRank + 2] = {};
  InterruptCounter counter;
  while (true) {
    run_inner(from, to);
    counter.add(column_.size);
    int i = num_outer_ - 1;
    for (; i >= 0; --i) {
      from += outer_[i].source;
      to += outer_[i].target;
      if (++index[i] < outer_[i].size) break;
      from -= outer_[i].source * outer_[i].size;
      to -= outer_[i].target * outer_[i].size;
      index[i] = 0;
    }
    if (i < 0) return;
  }
}

}  // namespace farcall::native
