// Copies between arrays of any strides, used by transposes, broadcasts, slices and the layouts of
// foreign calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <farcall/core/shape_dtype.h>

#include "engine/native/kernels/interruptible.h"
#include "engine/native/kernels/movement/spaced.h"

namespace farcall::native {

// A planned copy. Running it allocates nothing and is thread-safe.
//
// Strides count elements. Source strides may be zero, which repeats an element, or negative;
// pointers are those of the element whose index is zero in every dimension. No two elements of the
// target may coincide, and the target may not overlap the source.
class StridedCopy {
 public:
  StridedCopy() = default;
  // `width` is the size of an element in bytes: 1, 2, 4, 8 or 16; or 0 for tokens, which copy
  // nothing.
  StridedCopy(size_t width, std::span<const int64_t> shape, std::span<const int64_t> source_strides,
              std::span<const int64_t> target_strides);

  // Uses several threads if that pays. Copies of fewer than kPolledElements elements run on the
  // calling thread and do not check for interrupts.
  void run(const void* source, void* target) const;

  // Bytes of the copy if it is one dense run on both sides; else 0.
  int64_t dense_bytes() const {
    return inner_ == Inner::kBytes && num_outer_ == 0 ? column_.size * width_ : 0;
  }

 private:
  struct Dimension {
    int64_t size = 1;
    int64_t source = 0, target = 0;  // bytes from one index to the next
  };
  // How the innermost dimensions are copied.
  enum class Inner : uint8_t {
    kNothing,
    kBytes,
    kRepeat,      // one element
    kRepeatEach,  // of consecutive elements
    kReversed,
    kStrided,
    kTransposed,
    kInterleaved,    // a transpose of few rows: their elements in turn
    kDeinterleaved,  // a transpose of few columns: each is taken out
  };
  // Whether the two innermost dimensions are copied together.
  bool has_rows() const {
    return inner_ == Inner::kTransposed || inner_ == Inner::kRepeatEach || is_of_few();
  }
  bool is_of_few() const {
    return inner_ == Inner::kInterleaved || inner_ == Inner::kDeinterleaved;
  }
  // The dimension that threads share.
  const Dimension& cut() const {
    return has_rows() && inner_ != Inner::kDeinterleaved ? row_ : column_;
  }

  void add_dimensions(std::span<const int64_t> shape, std::span<const int64_t> source_strides,
                      std::span<const int64_t> target_strides);
  void merge_dimensions();
  void widen_elements();
  void choose_inner();
  void choose_transpose();
  void run_few(const std::byte* source, std::byte* target, int64_t count) const;
  void run_inner(const std::byte* source, std::byte* target, int64_t first, int64_t count) const;
  void run_some(const std::byte* source, std::byte* target, int64_t first, int64_t last,
                int64_t start, int64_t count) const;

  Dimension outer_[kMaxRank + 2];  // the slowest dimension of the target first
  int num_outer_ = 0;
  int64_t num_inner_ = 1;   // number of inner copies
  Dimension row_, column_;  // the inner dimensions; row_ only if has_rows()
  int64_t width_ = 1;
  Inner inner_ = Inner::kNothing;
  TakeSpaced take_spaced_ = nullptr;  // strided with a dense target, deinterleaved
  Interleave interleave_ = nullptr;   // interleaved
  bool is_streamed_ = false;          // dense runs request memory ahead
  bool is_past_caches_ = false;  // transposed: the target is written past the caches, if aligned
};

// The sides of the tiles that transposed copies consist of, in elements of `width` bytes.
constexpr int64_t transposed_tile(int64_t width) {
  return width == 1 ? 64 : (width == 16 ? 16 : 32);
}

// Copies element (r, c) from source + r * source_step + c * width to target + c * target_step + r *
// width, for r < rows and c < columns. Steps are bytes. Does not check for interrupts.
void copy_transposed(size_t width, const void* source, int64_t source_step, int64_t rows,
                     void* target, int64_t target_step, int64_t columns);

// memcpy, without a call for short copies.
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
