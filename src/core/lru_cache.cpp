#include <farcall/core/lru_cache.h>

#include <atomic>

#include <farcall/core/error.h>

namespace farcall {
namespace {

std::atomic<size_t> limit{768};

}  // namespace

size_t cache_limit() { return limit.load(std::memory_order_relaxed); }

void set_cache_limit(size_t chosen) {
  if (chosen == 0) {
    invalid_argument(
        "cache_limit must be 1 or more, got 0. To forget programs call clear_caches()");
  }
  limit.store(chosen, std::memory_order_relaxed);
}

}  // namespace farcall
