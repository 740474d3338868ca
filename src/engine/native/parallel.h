// Work on several threads: tiles that write to separate memory, taken one by one by the calling
// thread and by workers of oneTBB. Neither the number of threads nor the assignment of tiles may
// change a bit of the result.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace farcall::native {

// Hands out tile numbers to one of the threads: those of its own range in order, then those that
// the other threads have not begun. So a thread finds in its caches what it wrote in a run before.
class Tiles {
 public:
  // Returns false if there are no more tiles to work on.
  bool next(int64_t& tile) {
    if (!go_on()) return false;
    if (!shared_) {
      tile = next_++;
      return tile < count_;
    }
    for (; num_ranges_left_ > 0; --num_ranges_left_) {
      Range& range = shared_->ranges[range_];
      tile = range.next.fetch_add(1, std::memory_order_acq_rel);
      if (tile < range.end) return true;
      if (++range_ == shared_->num_ranges) range_ = 0;
    }
    return false;
  }

  // Call this within tiles that may take more than a few milliseconds; `cost` is about the number
  // of operations since the last call. Returns false if the program is to stop: the result does not
  // matter then. On the calling thread, raises instead what the front end raises.
  bool go_on(int64_t cost) {
    cost_ += cost;
    return go_on();
  }

 private:
  friend void run_tiles(int64_t count, int64_t num_threads, void (*work)(const void*, Tiles&),
                        const void* data);

  struct alignas(64) Range {  // on a cache line of its own
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };
  // State that the threads share besides the tiles' data. At the end the caller sees all that other
  // threads wrote.
  struct Shared {
    static constexpr int64_t kMostRanges = 16;
    std::array<Range, kMostRanges> ranges;
    size_t num_ranges = 0;
    std::atomic<bool> is_stopped{false};
  };

  // Of one thread alone.
  explicit Tiles(int64_t count) : count_(count) {}
  Tiles(Shared& shared, size_t range, bool is_caller)
      : shared_(&shared),
        range_(range),
        num_ranges_left_(shared.num_ranges),
        is_caller_(is_caller) {}
  bool go_on() {
    if (!is_caller_) return !shared_->is_stopped.load(std::memory_order_relaxed);
    if (cost_ >= polled_cost_) [[unlikely]]
      poll();
    return true;
  }
  void poll();

  // The cost between polls adapts to the time that it takes: some functions cost a hundred times
  // more than others.
  static constexpr int64_t kLeastPolledCost = int64_t{1} << 15, kMostPolledCost = int64_t{1} << 20;

  Shared* shared_ = nullptr;      // null if alone
  int64_t next_ = 0, count_ = 0;  // if alone
  size_t range_ = 0, num_ranges_left_ = 0;
  int64_t cost_ = 0, polled_cost_ = kLeastPolledCost, polled_at_ = 0;  // in milliseconds
  bool is_caller_ = true;                                              // on the calling thread
};

// The least number of operations for which waking another thread pays.
inline constexpr int64_t kThreadCost = int64_t{1} << 22;

// The number of threads, including the calling one, that share work of this cost.
int64_t num_threads_for(int64_t cost);

// The cost of an elementwise operation per element: an upper bound, except for a few functions.
inline constexpr int64_t kStepCost = 16;
// The number of elements for which another thread pays.
inline constexpr int64_t kThreadElements = int64_t{1} << 15;
inline int64_t num_threads_for_elements(int64_t elements) {
  return num_threads_for(elements * (kThreadCost / kThreadElements));
}

// Calls work(data, tiles) on the calling thread and on up to num_threads - 1 others. Raises what
// any of them raises. All have finished when it returns.
void run_tiles(int64_t count, int64_t num_threads, void (*work)(const void*, Tiles&),
               const void* data);

template <class Work>
void run_tiles(int64_t count, int64_t num_threads, const Work& work) {
  run_tiles(
      count, num_threads,
      [](const void* data, Tiles& tiles) { (*static_cast<const Work*>(data))(tiles); }, &work);
}

}  // namespace farcall::native
