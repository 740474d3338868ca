// Copies between arrays of any strides: the one engine behind transposes, broadcasts, slices and
// the layouts of foreign calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <farcall/core/shape_dtype.h>

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

  void run(const void* source, void* target) const;

 private:
  struct Dimension {
    int64_t size = 1;
    int64_t source = 0, target = 0;  // bytes from one index to the next
  };
  // How the innermost dimensions are copied.
  enum class Inner : uint8_t { kNothing, kBytes, kRepeat, kStrided, kTransposed };

  void add_dimensions(std::span<const int64_t> shape, std::span<const int64_t> source_strides,
                      std::span<const int64_t> target_strides);
  void merge_dimensions();
  void widen_elements();
  void choose_inner();
  void run_inner(const std::byte* source, std::byte* target) const;

  Dimension outer_[kMaxRank + 2];  // from the slowest in the target
  int num_outer_ = 0;
  Dimension row_, column_;  // the inner dimensions; rows only when transposed
  int64_t width_ = 1;
  Inner inner_ = Inner::kNothing;
};

inline void strided_copy(size_t width, std::span<const int64_t> shape, const void* source,
                         std::span<const int64_t> source_strides, void* target,
                         std::span<const int64_t> target_strides) {
  StridedCopy(width, shape, source_strides, target_strides).run(source, target);
}

}  // namespace farcall::native
