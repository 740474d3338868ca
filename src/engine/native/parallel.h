// Work on several threads: tiles that write to separate memory, taken one by one by the calling
// thread and by workers of oneTBB. Neither the number of threads nor the assignment of tiles may
// change a bit of the result.
#pragma once

#include <atomic>
#include <cstdint>

namespace farcall::native {

// Hands out tile numbers to one of the threads.
class Tiles {
 public:
  // Returns false if there are no more tiles to work on.
  bool next(int64_t& tile) {
    if (!go_on()) return false;
    if (is_alone_) {
      tile = shared_.next.load(std::memory_order_relaxed);
      shared_.next.store(tile + 1, std::memory_order_relaxed);
    } else {
      tile = shared_.next.fetch_add(1, std::memory_order_acq_rel);
    }
    return tile < count_;
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

  // State that the threads share besides the tiles' data. A thread that takes a tile sees what
  // other threads wrote before they took earlier tiles; at the end the caller sees all of it.
  struct Shared {
    std::atomic<int64_t> next{0};
    std::atomic<bool> is_stopped{false};
  };

  Tiles(Shared& shared, int64_t count, bool is_caller, bool is_alone)
      : shared_(shared), count_(count), is_caller_(is_caller), is_alone_(is_alone) {}
  bool go_on() {
    if (!is_caller_) return !shared_.is_stopped.load(std::memory_order_relaxed);
    if (cost_ >= polled_cost_) [[unlikely]]
      poll();
    return true;
  }
  void poll();

  // The cost between polls adapts to the time that it takes: some functions cost a hundred times
  // more than others.
  static constexpr int64_t kLeastPolledCost = int64_t{1} << 15, kMostPolledCost = int64_t{1} << 20;

  Shared& shared_;
  int64_t count_, cost_ = 0, polled_cost_ = kLeastPolledCost, polled_at_ = 0;  // in milliseconds
  bool is_caller_, is_alone_;  // on the calling thread; on no other one
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
