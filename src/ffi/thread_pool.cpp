#include <farcall/ffi/thread_pool.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall {

struct ThreadPool::State {
  struct Item {
    Task* task;
    void* data;
  };

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      ready.wait(lock, [&] { return !items.empty() || stopping; });
      if (items.empty()) return;
      const Item item = items.front();
      items.pop_front();
      lock.unlock();
      item.task(item.data);
      lock.lock();
    }
  }

  std::mutex mutex;
  std::condition_variable ready;
  std::deque<Item> items;
  std::vector<std::thread> threads;
  bool stopping = false;
};

ThreadPool::ThreadPool(int num_threads)
    : num_threads_(num_threads), state_(std::make_unique<State>()) {
  if (num_threads < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("thread pool: needs one thread at least, got {}", num_threads));
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->ready.notify_all();
  for (auto& thread : state_->threads) thread.join();
}

void ThreadPool::schedule(Task* task, void* data) {
  {
    const std::lock_guard lock(state_->mutex);
    while (state_->threads.size() < static_cast<size_t>(num_threads_)) {
      state_->threads.emplace_back(&State::work, state_.get());
    }
    state_->items.push_back({task, data});
  }
  state_->ready.notify_one();
}

ThreadPool& ThreadPool::shared() {
  // Never destroyed: a task may still run while the process ends.
  static auto* pool = new ThreadPool(std::max(1u, std::thread::hardware_concurrency()));
  return *pool;
}

}  // namespace farcall
