// Copies between arrays of any strides: the one engine behind transposes, broadcasts, slices and
// the layouts of foreign calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <farcall/core/shape_dtype.h>

#include "engine/native/kernels/interruptible.h"

namespace farcall::native {

// A copy worked out once; running it allocates nothing and may happen on several threads at a time.
//
// Strides count elements. Those of the source may be zero, which repeats an element, or negative;
// the pointers are those of the element with index zero everywhere. No two elements of the target
// may coincide, and the target may not overlap the source.
class StridedCopy {
 public:
  StridedCopy() = default;
  // `width` is the bytes of an element: 1, 2, 4, 8 or 16; 0 for tokens, of which nothing is copied.
  StridedCopy(size_t width, std::span<const int64_t> shape, std::span<const int64_t> source_strides,
              std::span<const int64_t> target_strides);

  // On several threads where that is worth it; copies of less than kPolledElements elements are
  // made on the calling thread alone and look for no interrupts.
  void run(const void* source, void* target) const;

  // The bytes of a copy that is one dense run on both sides; else 0.
  int64_t dense_bytes() const {
    return inner_ == Inner::kBytes && num_outer_ == 0 ? column_.size * width_ : 0;
  }

 private:
  struct Dimension {
    int64_t size = 1;
    int64_t source = 0, target = 0;  // bytes from one index to the next
  };
  // How the innermost dimensions are copied.
  enum class Inner : uint8_t { kNothing, kBytes, kRepeat, kReversed, kStrided, kTransposed };

  void add_dimensions(std::span<const int64_t> shape, std::span<const int64_t> source_strides,
                      std::span<const int64_t> target_strides);
  void merge_dimensions();
  void widen_elements();
  void choose_inner();
  void run_inner(const std::byte* source, std::byte* target, int64_t first, int64_t count) const;
  void run_some(const std::byte* source, std::byte* target, int64_t first, int64_t last,
                int64_t start, int64_t count) const;

  Dimension outer_[kMaxRank + 2];  // from the slowest in the target
  int num_outer_ = 0;
  int64_t num_inner_ = 1;   // how often the inner dimensions are copied
  Dimension row_, column_;  // the inner dimensions; rows only when transposed
  int64_t width_ = 1;
  Inner inner_ = Inner::kNothing;
};

// memcpy, without a call for short runs.
inline void copy_bytes(const std::byte* source, std::byte* target, size_t bytes) {
  constexpr size_t kStep = 16;
  if (bytes < kStep || bytes > 16 * kStep) {
    std::memcpy(target, source, bytes);
    return;
  }
  for (size_t at = 0; at + kStep < bytes; at += kStep) {
    std::memcpy(target + at, source + at, kStep);
  }
  std::memcpy(target + bytes - kStep, source + bytes - kStep, kStep);
}

inline void strided_copy(size_t width, std::span<const int64_t> shape, const void* source,
                         std::span<const int64_t> source_strides, void* target,
                         std::span<const int64_t> target_strides) {
  StridedCopy(width, shape, source_strides, target_strides).run(source, target);
}

}  // namespace farcall::native
