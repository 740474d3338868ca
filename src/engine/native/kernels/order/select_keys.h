// Selects and orders few of many unsigned integers, with the vectors of the instruction set in use.
#pragma once

#include <cstdint>

namespace farcall::native {

// The elements after an array that a function may read or write.
inline constexpr int64_t kSelectPadding = 16;

// Writes the keys up to `limit`, and their indices, in order. Returns their number.
int64_t select_keys(const uint32_t* keys, int64_t size, uint32_t limit, uint32_t* selected,
                    uint32_t* indices);
int64_t select_keys(const uint64_t* keys, int64_t size, uint64_t limit, uint64_t* selected,
                    uint64_t* indices);

// The k-th least key, 1 <= k <= size. `size` is a multiple of kSelectPadding. Compares all with
// all.
uint32_t kth_least(const uint32_t* keys, int64_t size, int64_t k);
uint64_t kth_least(const uint64_t* keys, int64_t size, int64_t k);

// Writes the k least words to `sorted`, in ascending order. No two words are equal. Compares all
// with all. Writes to words[size, size + kSelectPadding) too.
void sort_first(uint64_t* words, int64_t size, int64_t k, uint64_t* sorted);
// The most words for which this is faster than other ways.
inline constexpr int64_t kMostSortedFirst = 128;

}  // namespace farcall::native
