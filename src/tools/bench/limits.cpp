#include "tools/bench/limits.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tools/child.h"

namespace farcall::tools {
namespace {

constexpr double kMeasureSeconds = 0.25;  // for each of the two measurements

// The least time in which all threads have done their part, `work(thread)`, in seconds.
double least_time(int num_threads, const std::function<void(int)>& work) {
  double least = 1e9;
  const double end = now_seconds() + kMeasureSeconds;
  for (int round = 0; round < 3 || now_seconds() < end; ++round) {
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    std::vector<double> begins(static_cast<size_t>(num_threads)), ends = begins;
    for (int i = 0; i < num_threads; ++i) {
      threads.emplace_back([&, i] {
        ++ready;
        while (ready < num_threads) std::this_thread::yield();
        begins[static_cast<size_t>(i)] = now_seconds();
        work(i);
        ends[static_cast<size_t>(i)] = now_seconds();
      });
    }
    for (std::thread& thread : threads) thread.join();
    least = std::min(least, *std::ranges::max_element(ends) - *std::ranges::min_element(begins));
  }
  return least;
}

double measure_bandwidth(int num_threads, size_t cache_bytes) {
  const size_t part = std::clamp(2 * cache_bytes / static_cast<size_t>(num_threads),
                                 size_t{16} << 20, size_t{128} << 20);
  std::vector<std::unique_ptr<char[]>> from, to;
  for (int i = 0; i < num_threads; ++i) {
    from.emplace_back(new char[part]);
    to.emplace_back(new char[part]);
    std::memset(from.back().get(), i, part);
    std::memset(to.back().get(), i, part);
  }
  const double seconds = least_time(num_threads, [&](int i) {
    const auto thread = static_cast<size_t>(i);
    std::memcpy(to[thread].get(), from[thread].get(), part);
  });
  return 2.0 * static_cast<double>(part) * num_threads / seconds;
}

// As many chains as fit into AVX2's registers beside the factor and the summand.
constexpr int kChains = 7, kLanes = 16;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

[[gnu::always_inline]] inline float multiply_and_add_lanes(int64_t count) {
  // Start values differ, so that the compiler cannot merge chains.
  Lanes chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = Lanes{} + static_cast<float>(i + 2);
  const Lanes factor = Lanes{} + 0.999f, summand = Lanes{} + 0.001f;
  for (int64_t i = 0; i < count; ++i) {
#pragma GCC unroll 7
    for (Lanes& chain : chains) chain = chain * factor + summand;
  }
  float sum = 0;
  for (const Lanes& chain : chains) sum += chain[0] + chain[kLanes - 1];
  return sum;
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] float multiply_and_add_avx512(int64_t count) {
  return multiply_and_add_lanes(count);
}
[[gnu::target("avx2,fma")]] float multiply_and_add_avx2(int64_t count) {
  return multiply_and_add_lanes(count);
}
#endif

// Uses the widest vectors of this processor.
float multiply_and_add(int64_t count) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return multiply_and_add_avx512(count);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return multiply_and_add_avx2(count);
  }
#endif
  return multiply_and_add_lanes(count);
}

double measure_arithmetic(int num_threads) {
  constexpr int64_t kCount = 1 << 20;
  std::atomic<float> sink{0};
  const double seconds =
      least_time(num_threads, [&](int) { sink = sink + multiply_and_add(kCount); });
  return 2.0 * kChains * kLanes * kCount * num_threads / seconds;
}

}  // namespace

int num_processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

size_t last_level_cache() {
  for (const int level : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    if (const long nbytes = sysconf(level); nbytes > 0) return static_cast<size_t>(nbytes);
  }
  return size_t{32} << 20;
}

Limits measure_limits() {
  const int num_threads = num_processors();
  const size_t cache_bytes = last_level_cache();
  return {.num_threads = num_threads,
          .cache_bytes = cache_bytes,
          .bytes_per_second = measure_bandwidth(num_threads, cache_bytes),
          .flops_per_second = measure_arithmetic(num_threads)};
}

}  // namespace farcall::tools
