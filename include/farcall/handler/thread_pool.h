// The runtime's threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <sched.h>
#endif

#include <farcall/handler/context.h>

namespace farcall::ffi {
namespace detail {

inline void yield_thread() {
#if defined(__unix__) || defined(__APPLE__)
  sched_yield();
#endif
}

// The state of one parallel_for, shared by the caller and its scheduled tasks. If the pool is busy,
// a task may start long after the loop is over. It then finds no chunk left and touches only this
// block, which the last owner deletes. So the caller waits only for chunks that have begun, never
// for a task that has not started. A pool whose threads all wait in parallel_for still makes
// progress.
class ParallelLoop {
 public:
  using Body = void (*)(void* function, int64_t begin, int64_t end);

  ParallelLoop(Body body, void* function, int64_t size, int64_t chunk, int64_t owners)
      : body_(body), function_(function), size_(size), chunk_(chunk), owners_(owners) {}

  // Processes chunks until none is left.
  void work() {
    for (;;) {
      const int64_t begin = next_.fetch_add(chunk_, std::memory_order_relaxed);
      if (begin >= size_) return;
      const int64_t end = size_ - begin < chunk_ ? size_ : begin + chunk_;
      run(begin, end);
      done_.fetch_add(end - begin, std::memory_order_release);
    }
  }

  void wait() const {
    while (done_.load(std::memory_order_acquire) != size_) yield_thread();
  }

  void release() {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  static void task(void* loop) {
    static_cast<ParallelLoop*>(loop)->work();
    static_cast<ParallelLoop*>(loop)->release();
  }

#if FARCALL_FFI_EXCEPTIONS
  // After wait(). Moved out, so that the caller destroys the exception and not a late task.
  std::exception_ptr take_failure() { return std::move(failure_); }
#endif

 private:
  void run(int64_t begin, int64_t end) {
#if FARCALL_FFI_EXCEPTIONS
    try {
      if (!failed_.load(std::memory_order_relaxed)) body_(function_, begin, end);
    } catch (...) {
      // Keeps the first failure; the following addition to done_ publishes it to the caller.
      if (!failed_.exchange(true)) failure_ = std::current_exception();
    }
#else
    body_(function_, begin, end);
#endif
  }

  const Body body_;
  void* const function_;
  const int64_t size_;
  const int64_t chunk_;
  std::atomic<int64_t> owners_;
  std::atomic<int64_t> next_{0};
  std::atomic<int64_t> done_{0};
#if FARCALL_FFI_EXCEPTIONS
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
#endif
};

}  // namespace detail

class ThreadPool {
 public:
  explicit ThreadPool(const Context& context) : context_(context) {}

  // Runs `f` later on a thread of the pool, or immediately on this thread if there is no pool.
  template <typename F>
  void Schedule(F&& f) {
    using Function = std::decay_t<F>;
    auto* function = new Function(std::forward<F>(f));
    FARCALL_FFI_Task* task = +[](void* data) {
      auto* scheduled = static_cast<Function*>(data);
      (*scheduled)();
      delete scheduled;
    };
    if (!schedule(task, function)) task(function);
  }

  // 0 if there is no pool.
  int64_t num_threads() const {
    int64_t count = 0;
    FARCALL_FFI_ThreadPool_NumThreads_Args args = {};
    args.ctx = context_.ctx();
    args.num_threads = &count;
    Error error = detail::call_api(context_.api(), &FARCALL_FFI_Api::ThreadPool_NumThreads, args);
    return error.success() ? count : 0;
  }

  // Calls `f(begin, end)` on pieces of [0, size), or `f(i)` for each i, and returns when all are
  // done. The calling thread takes part. An exception of `f` is rethrown here. `grain` is the
  // minimum size of a piece.
  template <typename F>
  void parallel_for(int64_t size, F&& f, int64_t grain = 1) {
    using Function = std::remove_reference_t<F>;
    static_assert(
        std::is_invocable_v<Function&, int64_t, int64_t> || std::is_invocable_v<Function&, int64_t>,
        "farcall: parallel_for takes a function of (begin, end) or of an index");
    const auto body = +[](void* function, int64_t begin, int64_t end) {
      auto& loop_body = *static_cast<Function*>(function);
      if constexpr (std::is_invocable_v<Function&, int64_t, int64_t>) {
        loop_body(begin, end);
      } else {
        for (int64_t i = begin; i < end; ++i) loop_body(i);
      }
    };
    run_loop(body, const_cast<std::remove_const_t<Function>*>(&f), size, grain < 1 ? 1 : grain);
  }

 private:
  bool schedule(FARCALL_FFI_Task* task, void* data) {
    FARCALL_FFI_ThreadPool_Schedule_Args args = {};
    args.ctx = context_.ctx();
    args.task = task;
    args.data = data;
    return detail::call_api(context_.api(), &FARCALL_FFI_Api::ThreadPool_Schedule, args).success();
  }

  void run_loop(detail::ParallelLoop::Body body, void* function, int64_t size, int64_t grain) {
    if (size <= 0) return;
    const int64_t threads = size <= grain ? 0 : num_threads();
    if (threads <= 0) return body(function, 0, size);

    // Several pieces per thread balance pieces of unequal cost.
    const int64_t even = size / (4 * (threads + 1));
    const int64_t chunk = even < grain ? grain : even;
    const int64_t chunks = (size - 1) / chunk + 1;
    const int64_t helpers = threads < chunks - 1 ? threads : chunks - 1;
    auto* loop = new detail::ParallelLoop(body, function, size, chunk, helpers + 1);
    for (int64_t i = 0; i < helpers; ++i) {
      if (!schedule(&detail::ParallelLoop::task, loop)) loop->release();
    }
    loop->work();
    loop->wait();
#if FARCALL_FFI_EXCEPTIONS
    std::exception_ptr failure = loop->take_failure();
    loop->release();
    if (failure) std::rethrow_exception(std::move(failure));
#else
    loop->release();
#endif
  }

  Context context_;
};

template <>
struct CtxDecoding<ThreadPool> {
  static constexpr const char* kName = "thread pool";
  static ErrorOr<ThreadPool> decode(const Context& context) { return ThreadPool(context); }
};

}  // namespace farcall::ffi
