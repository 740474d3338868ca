// The hash threefry2x32 of many pairs of words at a time.
#pragma once

#include <cstdint>

namespace farcall::native {

// Dense arrays of words. Results may not overlap operands.
struct ThreefryArrays {
  const uint32_t *key1, *key2, *x1, *x2;
  uint32_t *y1, *y2;
};
void threefry2x32(const ThreefryArrays& arrays, int64_t size);

// Hashes of the counters from `first` on, with one key. A counter is a 64-bit number, its high word
// first. All counters of a call must have the same high word.
void threefry2x32_counters(uint32_t key1, uint32_t key2, uint64_t first, uint32_t* y1, uint32_t* y2,
                           int64_t size);

}  // namespace farcall::native
