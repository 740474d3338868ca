#include <farcall/ffi/thread_pool.h>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall {
namespace {

// The number of processors that this process may use. Older releases of TBB have no other function
// for it.
int default_concurrency() { return tbb::task_arena().max_concurrency(); }

// The limit of oneTBB's threads. oneTBB applies the smallest of the limits in force, so all pools
// share one: their threads together, plus the default number for the rest of the program.
class ThreadBudget {
 public:
  void add(int num_threads) {
    const std::lock_guard lock(mutex_);
    num_threads_ += num_threads;
    const auto others = static_cast<size_t>(default_concurrency());
    const size_t limit = others + static_cast<size_t>(num_threads_);
    auto control =
        std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, limit);
    control_ = std::move(control);
  }
  void remove(int num_threads) { add(-num_threads); }

  static ThreadBudget& instance() {
    static auto* budget = new ThreadBudget;
    return *budget;
  }

 private:
  std::mutex mutex_;
  int num_threads_ = 0;
  std::unique_ptr<tbb::global_control> control_;
};

}  // namespace

struct ThreadPool::State {
  // No slot is reserved for the scheduling thread: every slot is a worker's.
  explicit State(int num_threads) : arena(num_threads, /*reserved_for_masters=*/0) {}

  tbb::task_arena arena;
  // Shared with the tasks: the last task notifies it, perhaps after the pool is gone.
  std::shared_ptr<std::atomic<size_t>> unfinished = std::make_shared<std::atomic<size_t>>(0);
};

ThreadPool::ThreadPool(int num_threads) : num_threads_(num_threads) {
  if (num_threads < 1) {
    invalid_argument(
        fmt::format("thread pool: num_threads must be at least 1, got {}", num_threads));
  }
  ThreadBudget::instance().add(num_threads);
  state_ = std::make_unique<State>(num_threads);
}

ThreadPool::~ThreadPool() {
  if (!state_) return;
  const std::atomic<size_t>& unfinished = *state_->unfinished;
  while (const size_t count = unfinished.load(std::memory_order_acquire)) unfinished.wait(count);
  state_.reset();
  ThreadBudget::instance().remove(num_threads_);
}

void ThreadPool::schedule(Task* task, void* data) {
  // oneTBB orders these accesses already. The release here and the acquire in the task make that
  // visible to the thread sanitizer, which does not see into an uninstrumented library.
  state_->unfinished->fetch_add(1, std::memory_order_release);
  state_->arena.enqueue([unfinished = state_->unfinished, task, data] {
    static_cast<void>(unfinished->load(std::memory_order_acquire));
    task(data);
    if (unfinished->fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished->notify_all();
  });
}

ThreadPool& ThreadPool::shared() {
  // Never destroyed: tasks may still run while the process exits.
  static auto* pool = new ThreadPool(std::max(1, default_concurrency()));
  return *pool;
}

}  // namespace farcall
