// The hash threefry2x32, of many pairs of words at a time.
#pragma once

#include <cstdint>

namespace farcall::native {

// Arrays of words, each dense; results may not lie where operands do.
struct ThreefryArrays {
  const uint32_t *key1, *key2, *x1, *x2;
  uint32_t *y1, *y2;
};
void threefry2x32(const ThreefryArrays& arrays, int64_t size);

// The hashes of the counters from `first` on under one key; a counter is a 64-bit number, its high
// word first. Counters whose high words differ take several calls.
void threefry2x32_counters(uint32_t key1, uint32_t key2, uint64_t first, uint32_t* y1, uint32_t* y2,
                           int64_t size);

}  // namespace farcall::native
