// Stores of whole cache lines that do not read the lines first and do not keep them in a cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace farcall::native {

// Whether such stores pay for lines far apart. With them large transposes take a third of the time
// on AMD's Zen 5. Not measured on other processors.
inline bool has_stores_past_caches() {
#if defined(__x86_64__)
  static const bool is_amd = __builtin_cpu_is("amd");
  return is_amd;
#else
  return false;
#endif
}

// What takes fewer bytes stays in a cache.
inline constexpr int64_t kBytesPastCaches = int64_t{1} << 22;

// Copies `bytes`, a multiple of a cache line; both pointers are multiples of one too.
inline void store_past_caches(std::byte* target, const void* source, int64_t bytes) {
#if defined(__x86_64__)
  const auto* from = static_cast<const __m128i*>(source);
  auto* to = reinterpret_cast<__m128i*>(target);
  for (int64_t i = 0; i < bytes / int64_t(sizeof(__m128i)); ++i) _mm_stream_si128(to + i, from[i]);
#else
  std::memcpy(target, source, static_cast<size_t>(bytes));
#endif
}

// Call it after such stores, before another thread may read what they wrote.
inline void finish_stores_past_caches() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace farcall::native
