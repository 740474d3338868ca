// The windows of gather and scatter: their positions in the operand, and in the array that holds
// all windows side by side.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <farcall/core/shape_dtype.h>
#include <farcall/core/storage.h>
#include <farcall/primitives/indexing.h>

#include "engine/native/kernels/interruptible.h"
#include "engine/native/parallel.h"

namespace farcall::native {

// Reads element i of an integer array. Values beyond int64 become the maximum of int64.
using IndexLoad = int64_t (*)(const void* indices, int64_t i);
IndexLoad index_load(DType dtype);

// The start offsets of some windows, in elements.
struct WindowOffsets {
  static constexpr int64_t kSize = 256;
  int64_t operand[kSize];  // negative: the window is out of bounds and is skipped
  int64_t all[kSize];
};

// Where one element of all windows is: for window i, in the operand at windows[i] + operand, and in
// the array of all windows at i + all.
struct ElementOffsets {
  const int64_t* windows;  // negative: the window is out of bounds
  bool are_inside;         // none is negative
  int64_t operand, all;
};

// Pieces of an array that are dealt to the parts of a computation in turn: each part is one
// thread's.
struct DealtPieces {
  int64_t num_parts = 1;  // a power of two
  int shift = 0;          // a piece has 2^shift items
};
// Of items that are `apart` bytes apart; a piece has at least so many. There is one part if there
// are too few pieces for several.
DealtPieces deal_pieces(int64_t num_items, int64_t apart, int64_t least_items, int64_t num_threads);

// Immutable after construction: thread-safe. Finding windows does not allocate.
class Windows {
 public:
  // `sizes` is the shape of a window, for every dimension of the operand. `all` is the type of the
  // array that holds all windows; offset_dims are their dimensions in it.
  Windows(const GatherDimensionNumbers& numbers, ShapeDtype operand, ShapeDtype indices,
          ShapeDtype all, std::span<const int64_t> sizes, GatherScatterMode mode);

  // The window without collapsed dimensions, and its strides in elements.
  const Shape& shape() const { return shape_; }
  const std::vector<int64_t>& operand_strides() const { return window_operand_strides_; }
  const std::vector<int64_t>& all_strides() const { return window_all_strides_; }
  int64_t size() const { return size_; }  // elements of one window
  int64_t count() const { return count_; }
  bool clips() const { return clips_; }

  // Windows that are dense in the operand and one after the other in `all`, with dense indices.
  // That of index i, with 0 <= i <= limit, is at i * stride in the operand.
  struct Line {
    int64_t limit, stride;
  };
  // No value for other windows.
  std::optional<Line> line() const;
  // Several such lines, one after the other in `all`: in window j of a line, index i is at
  // i * stride + j * apart from the line's start in the operand.
  struct Lines {
    Line line;
    int64_t size;  // windows of one line
    int64_t apart;
  };
  std::optional<Lines> lines() const;
  // Where a line starts in the operand.
  int64_t start_of_line(int64_t line) const;

  // Whether element 0 of window i is element i of `all`, and windows have several elements.
  bool are_side_by_side() const {
    return numbers_.size() == 1 && numbers_[0].all_stride == 1 && size_ > 1;
  }
  // Whether different elements of two windows are never the same element of the operand.
  bool are_elements_apart() const { return are_elements_apart_; }

  // Calls visit(offsets, count) for groups of `count` windows, in row-major order of the indices.
  // Windows out of bounds are clipped or skipped, as the mode says. If `in_any_order`, it may use
  // several threads and any order, when that is worthwhile and windows are small enough that
  // copying one does not poll for interrupts.
  template <class Visit>
  void walk(const void* indices, bool in_any_order, Visit visit) const;
  // Same for windows that are the same or have no element in common: equal ones are visited by one
  // thread, in order. May use several threads if that pays; `width` is the size of an element in
  // bytes. Visiting a window must not poll for interrupts.
  template <class Visit>
  void walk_places(const void* indices, int64_t width, Visit visit) const;
  // The number of parts that walk_places divides them into, for as many threads.
  int64_t num_place_parts(int64_t width) const { return places(width).num_parts; }
  // For windows side by side: calls visit(offsets) for each element of a window, on several threads
  // if that pays.
  template <class Visit>
  void walk_elements(const void* indices, Visit visit) const;
  // Visits windows [first, last) on this thread; `visit` may change the offsets.
  template <class Visit>
  void walk_part(const void* indices, int64_t first, int64_t last, Tiles& tiles, Visit visit) const;

 private:
  // A component of an index: its maximum and its stride in the operand.
  struct Component {
    int64_t limit, stride;
  };
  // A batch dimension of the indices.
  struct Number {
    int64_t size, all_stride;
    int64_t operand_stride;  // 0 unless it is also a batch dimension of the operand
  };

  // Adds the offsets of one component of the start indices.
  using AddStarts = void (*)(const void* indices, int64_t first, int64_t step, int64_t count,
                             Component component, bool clips, int64_t* offsets);
  template <class T>
  static void add_starts(const void* indices, int64_t first, int64_t step, int64_t count,
                         Component component, bool clips, int64_t* offsets);

  // The parts of the operand that a thread visits all windows of, in elements.
  DealtPieces places(int64_t width) const;
  // Moves the offsets of windows in this part to the front. Returns the number of them.
  static int64_t keep_part(WindowOffsets& offsets, int64_t count, DealtPieces places, int64_t part);

  // So many windows are visited between two checks for interrupts.
  int64_t windows_at_once() const {
    return std::clamp<int64_t>(kPolledElements / std::max<int64_t>(size_, 1), 1,
                               WindowOffsets::kSize);
  }
  void add_number(Number next);
  // The offsets of an element of a window in the operand and in `all`.
  std::pair<int64_t, int64_t> place_of(int64_t element) const;
  // The offsets of all windows in the operand. Returns whether all are inside.
  bool find_all(const void* indices, int64_t* offsets) const;
  void find(const void* indices, int64_t first, int64_t count, WindowOffsets& offsets) const;

  AddStarts add_starts_;
  bool clips_, are_elements_apart_;
  std::vector<Component> components_;
  std::vector<Number> numbers_;
  int64_t count_ = 1;  // of windows
  Shape shape_;
  std::vector<int64_t> window_operand_strides_, window_all_strides_;
  int64_t size_ = 1;
  int64_t operand_size_;
};

template <class Visit>
void Windows::walk(const void* indices, bool in_any_order, Visit visit) const {
  const int64_t at_once = windows_at_once();
  const bool is_shared = in_any_order && size_ < kPolledElements;
  run_tiles((count_ + at_once - 1) / at_once,
            is_shared ? num_threads_for_elements(count_ * size_) : 1, [&](Tiles& tiles) {
              WindowOffsets offsets;
              for (int64_t block; tiles.next(block);) {
                const int64_t first = block * at_once;
                const int64_t count = std::min(at_once, count_ - first);
                find(indices, first, count, offsets);
                visit(std::as_const(offsets), count);
                if (!tiles.go_on(count * size_ * kStepCost)) return;
              }
            });
}

template <class Visit>
void Windows::walk_places(const void* indices, int64_t width, Visit visit) const {
  const DealtPieces places = this->places(width);
  run_tiles(places.num_parts, places.num_parts, [&](Tiles& tiles) {
    for (int64_t part; tiles.next(part);) {
      walk_part(indices, 0, count_, tiles, [&](WindowOffsets& offsets, int64_t count) {
        if (places.num_parts > 1) count = keep_part(offsets, count, places, part);
        visit(std::as_const(offsets), count);
      });
    }
  });
}

template <class Visit>
void Windows::walk_elements(const void* indices, Visit visit) const {
  const Storage storage = Storage::allocate(static_cast<size_t>(count_) * sizeof(int64_t));
  auto* const offsets = static_cast<int64_t*>(storage.data());
  const bool are_inside = find_all(indices, offsets);
  run_tiles(size_, num_threads_for_elements(count_ * size_), [&](Tiles& tiles) {
    for (int64_t element; tiles.next(element);) {
      const auto [operand, all] = place_of(element);
      visit(ElementOffsets{offsets, are_inside, operand, all});
      if (!tiles.go_on(count_ * kStepCost)) return;
    }
  });
}

template <class Visit>
void Windows::walk_part(const void* indices, int64_t first, int64_t last, Tiles& tiles,
                        Visit visit) const {
  WindowOffsets offsets;
  for (int64_t count; first < last; first += count) {
    count = std::min(windows_at_once(), last - first);
    find(indices, first, count, offsets);
    visit(offsets, count);
    if (!tiles.go_on(count * size_ * kStepCost)) return;
  }
}

}  // namespace farcall::native
