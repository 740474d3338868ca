// Writes that bypass the caches, for results too large to stay there: the memory need not be read
// first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace farcall::native {

// Results of at least this many bytes are streamed.
#if defined(__SSE2__)
inline constexpr int64_t kStreamedBytes = int64_t{8} << 20;
#else
inline constexpr int64_t kStreamedBytes = INT64_MAX;
#endif

// Copies. Other threads see the data after this thread has called end_streams().
inline void stream_bytes(const void* source, void* target, size_t nbytes) {
#if defined(__SSE2__)
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(target);
  const size_t head = std::min(nbytes, -reinterpret_cast<uintptr_t>(to) % 64);
  std::memcpy(to, from, head);
  size_t at = head;
  for (; at + 64 <= nbytes; at += 64) {
    for (size_t part = 0; part < 64; part += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at + part),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + part)));
    }
  }
  std::memcpy(to + at, from + at, nbytes - at);
#else
  std::memcpy(target, source, nbytes);
#endif
}

inline void end_streams() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace farcall::native
