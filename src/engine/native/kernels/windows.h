// The windows of gather and scatter: where each lies in the operand, and in the array that has all
// of them one beside the other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <farcall/core/shape_dtype.h>
#include <farcall/primitives/indexing.h>

#include "engine/native/kernels/interruptible.h"
#include "engine/native/parallel.h"

namespace farcall::native {

// Reads element i of an array of integers. Values beyond int64 become its largest.
using IndexLoad = int64_t (*)(const void* indices, int64_t i);
IndexLoad index_load(DType dtype);

// Where some windows begin, in elements.
struct WindowOffsets {
  static constexpr int64_t kSize = 256;
  int64_t operand[kSize];  // negative: the window lies outside and is left out
  int64_t all[kSize];
};

// Worked out once; finding windows allocates nothing and may happen on several threads at a time.
class Windows {
 public:
  // `sizes` are those of a window, for every dimension of the operand; `all` has the windows, their
  // dimensions at offset_dims.
  Windows(const GatherDimensionNumbers& numbers, ShapeDtype operand, ShapeDtype indices,
          ShapeDtype all, std::span<const int64_t> sizes, GatherScatterMode mode);

  // The window without the dimensions that it leaves out, and its strides in elements.
  const Shape& shape() const { return shape_; }
  const std::vector<int64_t>& operand_strides() const { return window_operand_strides_; }
  const std::vector<int64_t>& all_strides() const { return window_all_strides_; }
  int64_t size() const { return size_; }  // elements of one window
  int64_t count() const { return count_; }
  bool clips() const { return clips_; }

  // Single elements, one after the other in `all`: that of an index from 0 to `limit` lies at
  // `stride` times the index in the operand, and indices are as dense.
  struct Line {
    int64_t limit, stride;
  };
  // Nothing for other windows.
  std::optional<Line> line() const;

  // Calls visit(offsets, count) for `count` windows at a time, in row-major order of the indices.
  // Windows that lie outside are moved inside or left out, as the mode wants it. On several
  // threads, and then in any order, only where that is worth it and windows are small enough that
  // no copy of one looks for interrupts.
  template <class Visit>
  void walk(const void* indices, bool in_any_order, Visit visit) const;
  // Of windows [first, last), on this thread.
  template <class Visit>
  void walk_part(const void* indices, int64_t first, int64_t last, Tiles& tiles, Visit visit) const;

 private:
  // A component of an index: how far it may go, and what it is worth.
  struct Component {
    int64_t limit, stride;
  };
  // A dimension of the indices that numbers windows.
  struct Number {
    int64_t size, all_stride;
    int64_t operand_stride;  // 0 unless it goes in step with a dimension of the operand
  };

  // Adds what the starts of a component are worth.
  using AddStarts = void (*)(const void* indices, int64_t first, int64_t step, int64_t count,
                             Component component, bool clips, int64_t* offsets);
  template <class T>
  static void add_starts(const void* indices, int64_t first, int64_t step, int64_t count,
                         Component component, bool clips, int64_t* offsets);

  void add_number(Number next);
  void find(const void* indices, int64_t first, int64_t count, WindowOffsets& offsets) const;

  AddStarts add_starts_;
  bool clips_;
  std::vector<Component> components_;
  std::vector<Number> numbers_;
  int64_t count_ = 1;  // of windows
  Shape shape_;
  std::vector<int64_t> window_operand_strides_, window_all_strides_;
  int64_t size_ = 1;
};

template <class Visit>
void Windows::walk(const void* indices, bool in_any_order, Visit visit) const {
  constexpr int64_t kBlockSize = WindowOffsets::kSize;
  const bool is_shared = in_any_order && size_ < kPolledElements;
  run_tiles((count_ + kBlockSize - 1) / kBlockSize,
            is_shared ? num_threads_for_elements(count_ * size_) : 1, [&](Tiles& tiles) {
              WindowOffsets offsets;
              for (int64_t block; tiles.next(block);) {
                const int64_t first = block * kBlockSize;
                const int64_t count = std::min(kBlockSize, count_ - first);
                find(indices, first, count, offsets);
                visit(std::as_const(offsets), count);
                if (!tiles.go_on(count * size_ * kStepCost)) return;
              }
            });
}

template <class Visit>
void Windows::walk_part(const void* indices, int64_t first, int64_t last, Tiles& tiles,
                        Visit visit) const {
  WindowOffsets offsets;
  for (int64_t count; first < last; first += count) {
    count = std::min(WindowOffsets::kSize, last - first);
    find(indices, first, count, offsets);
    visit(std::as_const(offsets), count);
    if (!tiles.go_on(count * size_ * kStepCost)) return;
  }
}

}  // namespace farcall::native
