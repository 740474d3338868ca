#include <farcall/ffi/thread_pool.h>

#include <atomic>
#include <latch>

#include "testing.h"

namespace farcall {
namespace {

// Runs a lambda as a task.
template <typename F>
void schedule(ThreadPool& pool, F function) {
  pool.schedule(
      [](void* data) {
        const std::unique_ptr<F> owned(static_cast<F*>(data));
        (*owned)();
      },
      new F(std::move(function)));
}

TEST(ThreadPool, RunsEverythingBeforeItEnds) {
  std::atomic<int> count = 0;
  {
    ThreadPool pool(2);
    EXPECT_EQ(pool.num_threads(), 2);
    for (int i = 0; i < 1000; ++i) schedule(pool, [&] { ++count; });
  }
  EXPECT_EQ(count, 1000);
}

TEST(ThreadPool, ACallerMayBlockOnItsTasks) {
  ThreadPool pool(1);
  for (int run = 0; run < 100; ++run) {
    std::latch done(3);
    for (int i = 0; i < 3; ++i) schedule(pool, [&] { done.count_down(); });
    done.wait();
  }
}

TEST(ThreadPool, AsManyTasksAsThreadsRunAtOnce) {
  constexpr int kThreads = 5;  // possibly more than the machine has cores
  ThreadPool pool(kThreads);
  std::latch all_here(kThreads), done(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    schedule(pool, [&] {
      all_here.arrive_and_wait();
      done.count_down();
    });
  }
  done.wait();
}

TEST(ThreadPool, TasksMayScheduleTasks) {
  std::atomic<int> count = 0;
  {
    ThreadPool pool(1);
    schedule(pool, [&] {
      for (int i = 0; i < 10; ++i) schedule(pool, [&] { ++count; });
    });
  }
  EXPECT_EQ(count, 10);
}

TEST(ThreadPool, WantsAThread) {
  EXPECT_EQ(testing::error_of(ErrorCode::kInvalidArgument, [] { ThreadPool pool(0); }),
            "thread pool: num_threads must be at least 1, got 0");
  EXPECT_GE(ThreadPool::shared().num_threads(), 1);
}

}  // namespace
}  // namespace farcall
