// Requests of memory ahead of its use.
#pragma once

#include <cstdint>

namespace farcall::native {

// In bytes.
inline constexpr int64_t kCacheLine = 64;
// Where memory is read or written in order, this many bytes ahead are requested.
inline constexpr int64_t kPrefetchDistance = 4096;
// Arrays of fewer bytes stay in a cache.
inline constexpr int64_t kStreamedBytes = int64_t{1} << 20;

// Requests the cache line at any address, to be written soon. Compilers use the instruction for
// this only if told that the processor has it; processors without it ignore it.
inline void prefetch_to_write(const void* address) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace farcall::native
