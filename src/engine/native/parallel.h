// Work on several threads: tiles that write to separate places, taken one by one by the calling
// thread and by workers of oneTBB. Which thread works on a tile, and how many there are, must not
// change any bit of the result.
#pragma once

#include <atomic>
#include <cstdint>

namespace farcall::native {

// The numbers of the tiles, as one of the threads gets them.
class Tiles {
 public:
  // False when no more are to be worked on.
  bool next(int64_t& tile) {
    if (!go_on()) return false;
    tile = shared_.next.fetch_add(1, std::memory_order_acq_rel);
    return tile < count_;
  }

  // To be called within tiles too, where one may take more than a few milliseconds: `cost` is about
  // the number of operations since the last call. False when the program is to stop: the result
  // does not matter any more. On the calling thread that raises instead what the front end raises.
  bool go_on(int64_t cost) {
    cost_ += cost;
    return go_on();
  }

 private:
  friend void run_tiles(int64_t count, int64_t num_threads, void (*work)(const void*, Tiles&),
                        const void* data);

  // All that the threads share besides the tiles' data. What one thread wrote before it took a tile
  // is seen by the thread that takes a later one, and all of it by the caller in the end.
  struct Shared {
    std::atomic<int64_t> next{0};
    std::atomic<bool> is_stopped{false};
  };

  Tiles(Shared& shared, int64_t count, bool is_caller)
      : shared_(shared), count_(count), is_caller_(is_caller) {}
  bool go_on() {
    if (!is_caller_) return !shared_.is_stopped.load(std::memory_order_relaxed);
    if (cost_ >= kPolledCost) [[unlikely]]
      poll();
    return true;
  }
  void poll();

  static constexpr int64_t kPolledCost = int64_t{1} << 20;

  Shared& shared_;
  int64_t count_, cost_ = 0;
  bool is_caller_;
};

// What one thread has to do at the least to be worth its waking, in operations.
inline constexpr int64_t kThreadCost = int64_t{1} << 22;

// How many threads share work of this cost, the calling one among them.
int64_t num_threads_for(int64_t cost);

// What an elementwise operation on one element costs at the most, but for a few functions.
inline constexpr int64_t kStepCost = 16;
// The elements whose operations are worth a thread.
inline constexpr int64_t kThreadElements = int64_t{1} << 15;
inline int64_t num_threads_for_elements(int64_t elements) {
  return num_threads_for(elements * (kThreadCost / kThreadElements));
}

// Calls work(data, tiles) on the calling thread and on up to num_threads - 1 others. Raises what
// any of them raises; none works any more when it returns.
void run_tiles(int64_t count, int64_t num_threads, void (*work)(const void*, Tiles&),
               const void* data);

template <class Work>
void run_tiles(int64_t count, int64_t num_threads, const Work& work) {
  run_tiles(
      count, num_threads,
      [](const void* data, Tiles& tiles) { (*static_cast<const Work*>(data))(tiles); }, &work);
}

}  // namespace farcall::native
