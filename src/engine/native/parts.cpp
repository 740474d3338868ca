#include "engine/native/parts.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/core/stop.h>

#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

// The parts of one run_parts().
class PartsRun {
 public:
  PartsRun(size_t count, const std::function<void(size_t)>& work) : count_(count), work_(work) {
    next_.store(1, std::memory_order_release);  // see run_tiles
  }

  // Runs parts until all have begun. The calling thread begins with the first one.
  void take(bool is_helper) {
    size_t part = is_helper ? next() : 0;
    for (; part < count_; part = next()) {
      guard(part, [&] {
        const StopScope stop(is_stopped_, is_helper);
        work_(part);
      });
      const std::lock_guard lock(mutex_);
      if (++num_ended_ == count_) all_ended_.notify_one();
    }
  }

  // Waits for the parts that other threads have begun.
  void wait() {
    constexpr std::chrono::milliseconds kPolled{20};
    const auto is_over = [&] { return num_ended_ == count_; };
    std::unique_lock lock(mutex_);
    while (!all_ended_.wait_for(lock, kPolled, is_over)) {
      lock.unlock();
      if (!is_stopped_.load(std::memory_order_relaxed)) guard(0, check_interrupt);
      lock.lock();
    }
  }

  void raise() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  // In the order in which they are raised.
  enum class Failure : uint8_t { kInterrupt, kError, kStopped };

  size_t next() { return next_.fetch_add(1, std::memory_order_acq_rel); }
  template <class F>
  void guard(size_t part, const F& f) {
    try {
      f();
    } catch (const StoppedError&) {
      fail(Failure::kStopped, part);
    } catch (const Error&) {
      fail(Failure::kError, part);
    } catch (...) {
      fail(Failure::kInterrupt, part);
    }
  }
  void fail(Failure failure, size_t part) {
    if (failure != Failure::kError) is_stopped_.store(true, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    const std::pair rank(failure, part);
    if (failure_ && first_ <= rank) return;
    first_ = rank;
    failure_ = std::current_exception();
  }

  const size_t count_;
  const std::function<void(size_t)>& work_;
  std::atomic<size_t> next_;
  std::atomic<bool> is_stopped_{false};
  std::mutex mutex_;
  std::condition_variable all_ended_;
  size_t num_ended_ = 0;
  std::exception_ptr failure_;
  std::pair<Failure, size_t> first_;  // of failure_
};

}  // namespace

void run_parts(size_t count, const std::function<void(size_t)>& work) {
  const auto num_threads = std::min(static_cast<int64_t>(count), num_threads_for(INT64_MAX));
  if (num_threads <= 1) {
    for (size_t i = 0; i < count; ++i) work(i);
    return;
  }
  PartsRun parts(count, work);
  tbb::this_task_arena::isolate([&] {  // see run_tiles
    tbb::task_group helpers;
    for (int64_t i = 1; i < num_threads; ++i) helpers.run([&] { parts.take(/*is_helper=*/true); });
    parts.take(/*is_helper=*/false);
    parts.wait();
    helpers.wait();  // for those that found no part
  });
  parts.raise();
}

}  // namespace farcall::native
