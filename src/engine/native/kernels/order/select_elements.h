// Finds and orders few of many elements, with the vectors of the instruction set in use. Elements
// have 4 or 8 bytes: int32, uint32, float32, int64, uint64, float64. NaN exceeds all numbers.
#pragma once

#include <cstdint>
#include <limits>

#include <farcall/core/dtype.h>

namespace farcall::native {

// The elements after an array that a function may write.
inline constexpr int64_t kSelectPadding = 16;
// The most k of SelectLoops::bound.
inline constexpr int64_t kMostBounded = 64;

// No number is below it.
template <class T>
inline constexpr T kLowestElement = std::numeric_limits<T>::has_infinity
                                        ? -std::numeric_limits<T>::infinity()
                                        : std::numeric_limits<T>::lowest();

struct SelectLoops {
  // Writes the indices of the elements that exceed *limit, in order. If `or_equal`, also of those
  // that equal it. Returns their number. Zeros are equal. Writes kSelectPadding indices more.
  int64_t (*find)(const void* x, int64_t size, const void* limit, bool or_equal, int32_t* indices);
  // Computes a number that at least k elements reach, and usually few more. That is the lowest if
  // there are few elements.
  void (*bound)(const void* x, int64_t size, int64_t k, void* bound);
};
SelectLoops select_loops(DType dtype);

// Writes the k least words to `sorted`, in ascending order, and one element more that means
// nothing. No two words are equal. Compares all with all. Writes to words[size, size +
// kSelectPadding) too.
void sort_first(uint64_t* words, int64_t size, int64_t k, uint64_t* sorted);
// The most words for which this is faster than other ways.
inline constexpr int64_t kMostSortedFirst = 128;

}  // namespace farcall::native
