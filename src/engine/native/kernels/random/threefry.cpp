// threefry2x32 with 20 rounds: J. Salmon, M. Moraes, R. Dror and D. Shaw, "Parallel random numbers:
// as easy as 1, 2, 3" (SC 2011). The loops have no branches; the compiler vectorizes them for the
// instruction sets in the list below.
#include "engine/native/kernels/random/threefry.h"

namespace farcall::native {
namespace {

#define FARCALL_FLATTENED [[gnu::always_inline]] inline

FARCALL_FLATTENED uint32_t rotate_left(uint32_t x, int count) {
  return x << count | x >> (32 - count);
}

FARCALL_FLATTENED void round_of(uint32_t& x1, uint32_t& x2, int rotation) {
  x1 += x2;
  x2 = rotate_left(x2, rotation) ^ x1;
}
FARCALL_FLATTENED void odd_rounds(uint32_t& x1, uint32_t& x2) {
  round_of(x1, x2, 13);
  round_of(x1, x2, 15);
  round_of(x1, x2, 26);
  round_of(x1, x2, 6);
}
FARCALL_FLATTENED void even_rounds(uint32_t& x1, uint32_t& x2) {
  round_of(x1, x2, 17);
  round_of(x1, x2, 29);
  round_of(x1, x2, 16);
  round_of(x1, x2, 24);
}

FARCALL_FLATTENED void hash(uint32_t key1, uint32_t key2, uint32_t& x1, uint32_t& x2) {
  const uint32_t key3 = key1 ^ key2 ^ 0x1BD11BDAu;
  x1 += key1;
  x2 += key2;
  odd_rounds(x1, x2);
  x1 += key2;
  x2 += key3 + 1;
  even_rounds(x1, x2);
  x1 += key3;
  x2 += key1 + 2;
  odd_rounds(x1, x2);
  x1 += key1;
  x2 += key2 + 3;
  even_rounds(x1, x2);
  x1 += key2;
  x2 += key3 + 4;
  odd_rounds(x1, x2);
  x1 += key3;
  x2 += key1 + 5;
}

FARCALL_FLATTENED void hash_arrays(const ThreefryArrays& arrays, int64_t size) {
  const auto [key1, key2, x1, x2, y1, y2] = arrays;
#pragma GCC ivdep
  for (int64_t i = 0; i < size; ++i) {
    uint32_t a = x1[i], b = x2[i];
    hash(key1[i], key2[i], a, b);
    y1[i] = a;
    y2[i] = b;
  }
}

FARCALL_FLATTENED void hash_counters(uint32_t key1, uint32_t key2, uint32_t high, uint32_t low,
                                     uint32_t* y1, uint32_t* y2, int64_t size) {
  const auto count = static_cast<uint32_t>(size);
#pragma GCC ivdep
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t a = high, b = low + i;
    hash(key1, key2, a, b);
    y1[i] = a;
    y2[i] = b;
  }
}

#undef FARCALL_FLATTENED

struct Loops {
  void (*arrays)(const ThreefryArrays& arrays, int64_t size);
  void (*counters)(uint32_t key1, uint32_t key2, uint32_t high, uint32_t low, uint32_t* y1,
                   uint32_t* y2, int64_t size);
};

#define FARCALL_LOOPS(name, ...)                                                              \
  __VA_ARGS__ void arrays_##name(const ThreefryArrays& arrays, int64_t size) {                \
    hash_arrays(arrays, size);                                                                \
  }                                                                                           \
  __VA_ARGS__ void counters_##name(uint32_t key1, uint32_t key2, uint32_t high, uint32_t low, \
                                   uint32_t* y1, uint32_t* y2, int64_t size) {                \
    hash_counters(key1, key2, high, low, y1, y2, size);                                       \
  }                                                                                           \
  constexpr Loops k_##name = {arrays_##name, counters_##name}

FARCALL_LOOPS(baseline, );
#ifdef __x86_64__
FARCALL_LOOPS(avx2, [[gnu::target("avx2")]]);
FARCALL_LOOPS(avx512, [[gnu::target("avx512f,avx512vl")]]);
#endif
#undef FARCALL_LOOPS

const Loops& loops() {
#ifdef __x86_64__
  static const Loops best = __builtin_cpu_supports("avx512vl") ? k_avx512
                            : __builtin_cpu_supports("avx2")   ? k_avx2
                                                               : k_baseline;
  return best;
#else
  return k_baseline;
#endif
}

}  // namespace

void threefry2x32(const ThreefryArrays& arrays, int64_t size) { loops().arrays(arrays, size); }

void threefry2x32_counters(uint32_t key1, uint32_t key2, uint64_t first, uint32_t* y1, uint32_t* y2,
                           int64_t size) {
  loops().counters(key1, key2, static_cast<uint32_t>(first >> 32), static_cast<uint32_t>(first), y1,
                   y2, size);
}

}  // namespace farcall::native
