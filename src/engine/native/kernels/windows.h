// The windows of gather and scatter: where each lies in the operand, and in the array that has all
// of them one beside the other.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <farcall/core/shape_dtype.h>
#include <farcall/primitives/indexing.h>

#include "engine/native/kernels/interruptible.h"

namespace farcall::native {

// Reads element i of an array of integers. Values beyond int64 become its largest.
using IndexLoad = int64_t (*)(const void* indices, int64_t i);
IndexLoad index_load(DType dtype);

// Worked out once; walking allocates nothing and may happen on several threads at a time.
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

  // Calls visit(offset in the operand, offset in `all`), in elements, for each index in row-major
  // order. Windows that lie outside are moved inside or, as the mode wants it, have offset -1.
  template <class Visit>
  void walk(const void* indices, Visit visit) const;

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

  IndexLoad load_;
  bool clips_;
  std::vector<Component> components_;
  std::vector<Number> numbers_;
  int64_t count_ = 1;  // of windows
  Shape shape_;
  std::vector<int64_t> window_operand_strides_, window_all_strides_;
  int64_t size_ = 1;
};

template <class Visit>
void Windows::walk(const void* indices, Visit visit) const {
  std::array<int64_t, kMaxRank> at{};
  int64_t batch = 0, all = 0;  // offsets that the numbers of the window are worth
  InterruptCounter counter;
  for (int64_t i = 0; i < count_; ++i) {
    counter.add(size_);
    int64_t offset = batch;
    for (size_t k = 0; k < components_.size(); ++k) {
      const Component& component = components_[k];
      int64_t start =
          load_(indices, i * static_cast<int64_t>(components_.size()) + static_cast<int64_t>(k));
      if (start < 0 || start > component.limit) {
        if (!clips_) {
          offset = -1;
          break;
        }
        start = start < 0 ? 0 : component.limit;
      }
      offset += start * component.stride;
    }
    visit(offset, all);
    for (size_t d = numbers_.size(); d-- > 0;) {
      const Number& number = numbers_[d];
      batch += number.operand_stride;
      all += number.all_stride;
      if (++at[d] < number.size) break;
      batch -= number.size * number.operand_stride;
      all -= number.size * number.all_stride;
      at[d] = 0;
    }
  }
}

}  // namespace farcall::native
