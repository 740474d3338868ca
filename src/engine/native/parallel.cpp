#include "engine/native/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <ctime>
#include <thread>
#include <utility>

#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <farcall/core/interrupt.h>

namespace farcall::native {
namespace {

// A child of fork() has no worker threads.
std::atomic<bool> is_forked{false};
[[maybe_unused]] const int kAtFork =
    pthread_atfork(nullptr, nullptr, [] { is_forked.store(true, std::memory_order_relaxed); });

// What the clock that is cheap to read goes forward by, or less.
constexpr int64_t kCoarseStep = 4;

int64_t coarse_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

void Tiles::poll() {
  cost_ = 0;
  const int64_t now = coarse_milliseconds(), elapsed = now - std::exchange(polled_at_, now);
  if (elapsed <= kCoarseStep) polled_cost_ = std::min(2 * polled_cost_, kMostPolledCost);
  if (elapsed > 2 * kCoarseStep) polled_cost_ = kLeastPolledCost;
  try {
    poll_interrupt();
  } catch (...) {
    if (shared_) shared_->is_stopped.store(true, std::memory_order_relaxed);
    throw;
  }
}

int64_t num_threads_for(int64_t cost) {
  if (cost < 2 * kThreadCost || is_forked.load(std::memory_order_relaxed)) return 1;
  return std::min<int64_t>(cost / kThreadCost, tbb::this_task_arena::max_concurrency());
}

void run_tiles(int64_t count, int64_t num_threads, void (*work)(const void*, Tiles&),
               const void* data) {
  num_threads = std::min(num_threads, count);
  if (num_threads <= 1) {
    Tiles tiles(count);
    return work(data, tiles);
  }
  Tiles::Shared shared;
  const int64_t num_ranges = std::min(num_threads, Tiles::Shared::kMostRanges);
  shared.num_ranges = static_cast<size_t>(num_ranges);
  // Without overflow.
  const auto bound = [&](int64_t i) {
    return count / num_ranges * i + count % num_ranges * i / num_ranges;
  };
  // oneTBB synchronizes when it hands over work. The thread sanitizer does not see that: these
  // stores and the matching loads tell it.
  for (int64_t i = 0; i < num_ranges; ++i) {
    Tiles::Range& range = shared.ranges[static_cast<size_t>(i)];
    range.end = bound(i + 1);
    range.next.store(bound(i), std::memory_order_release);
  }
  const std::thread::id caller = std::this_thread::get_id();
  const auto take_part = [&](int64_t part) {
    const bool is_caller = std::this_thread::get_id() == caller;
    Tiles tiles(shared, static_cast<size_t>(part % num_ranges), is_caller);
    try {
      work(data, tiles);
    } catch (...) {
      shared.is_stopped.store(true, std::memory_order_relaxed);
      throw;
    }
  };
  // If no worker has begun a part when the tiles run out, the caller runs it, and it is empty: the
  // caller never waits for a worker that has not begun. The isolation keeps unrelated tasks off the
  // calling thread, which may hold a lock that they wait for.
  tbb::this_task_arena::isolate(
      [&] { tbb::parallel_for(int64_t{0}, num_threads, take_part, tbb::simple_partitioner()); });
  for (int64_t i = 0; i < num_ranges; ++i) {
    static_cast<void>(shared.ranges[static_cast<size_t>(i)].next.load(std::memory_order_acquire));
  }
}

}  // namespace farcall::native
