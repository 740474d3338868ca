// Tiles on several threads: each runs once, and an error or interrupt stops all.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tbb/task_arena.h>

#include <farcall/core/interrupt.h>

#include "engine/native/parallel.h"

namespace farcall::native {
namespace {

struct Interrupted {};

// Runs `f` with this many threads, even on fewer processors.
template <class F>
void with_threads(int num_threads, F&& f) {
  tbb::task_arena(num_threads).execute(f);
}

TEST(Parallel, EachTileIsWorkedOnOnce) {
  for (const int num_threads : {1, 2, 5, 20}) {
    for (const size_t count : {7, 1000}) {
      std::vector<int> counts(count);  // not atomic: one thread per tile
      with_threads(num_threads, [&] {
        run_tiles(static_cast<int64_t>(count), num_threads, [&](Tiles& tiles) {
          for (int64_t i = 0; tiles.next(i);) ++counts[static_cast<size_t>(i)];
        });
      });
      EXPECT_EQ(counts, std::vector<int>(count, 1)) << num_threads;
    }
  }
}

TEST(Parallel, TilesOfAThreadThatIsDelayedAreTakenByTheCaller) {
  with_threads(2, [] {
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> is_over{false};
    std::vector<int64_t> of_caller;
    run_tiles(10, 2, [&](Tiles& tiles) {
      if (std::this_thread::get_id() == caller && of_caller.empty()) {
        for (int64_t i = 0; tiles.next(i);) of_caller.push_back(i);
        is_over.store(true);
        return;
      }
      while (!is_over.load()) std::this_thread::yield();
      int64_t tile = 0;
      EXPECT_FALSE(tiles.next(tile));
    });
    std::ranges::sort(of_caller);
    EXPECT_EQ(of_caller, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  });
}

TEST(Parallel, NoTilesAreNoWork) {
  run_tiles(0, 4, [](Tiles& tiles) {
    int64_t tile = 0;
    EXPECT_FALSE(tiles.next(tile));
  });
}

TEST(Parallel, LittleWorkStaysOnItsThread) {
  with_threads(8, [] {
    EXPECT_EQ(num_threads_for(0), 1);
    EXPECT_EQ(num_threads_for(2 * kThreadCost - 1), 1);
    EXPECT_EQ(num_threads_for(3 * kThreadCost), 3);
    EXPECT_EQ(num_threads_for(INT64_MAX), 8);
  });
}

TEST(Parallel, WhatATileRaisesReachesTheCaller) {
  for (const int num_threads : {1, 4}) {
    with_threads(num_threads, [&] {
      EXPECT_THROW(run_tiles(100, num_threads,
                             [](Tiles& tiles) {
                               for (int64_t i = 0; tiles.next(i);) {
                                 if (i == 50) throw std::runtime_error("tile");
                               }
                             }),
                   std::runtime_error);
    });
  }
}

TEST(Parallel, AnInterruptStopsAllThreads) {
  for (const int num_threads : {1, 4}) {
    set_interrupt_check([] { throw Interrupted(); });
    const auto begin = std::chrono::steady_clock::now();
    with_threads(num_threads, [&] {
      EXPECT_THROW(run_tiles(1'000'000, num_threads,
                             [](Tiles& tiles) {
                               for (int64_t i = 0; tiles.next(i);) {
                                 std::this_thread::sleep_for(std::chrono::microseconds(100));
                                 if (!tiles.go_on(1 << 20)) return;
                               }
                             }),
                   Interrupted);
    });
    set_interrupt_check(nullptr);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  }
}

TEST(Parallel, TilesMayUseThreadsThemselves) {
  std::atomic<int> sum = 0;
  with_threads(4, [&] {
    run_tiles(8, 4, [&](Tiles& outer) {
      for (int64_t i = 0; outer.next(i);) {
        run_tiles(8, 4, [&](Tiles& inner) {
          for (int64_t j = 0; inner.next(j);) sum += static_cast<int>(j);
        });
      }
    });
  });
  EXPECT_EQ(sum, 8 * 28);
}

TEST(Parallel, AChildOfAForkWorksAlone) {
  std::atomic<int> count = 0;
  const auto work = [&](Tiles& tiles) {
    for (int64_t i = 0; tiles.next(i);) ++count;
  };
  with_threads(4, [&] { run_tiles(100, 4, work); });
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    run_tiles(100, num_threads_for(INT64_MAX), work);
    _exit(count == 200 && num_threads_for(INT64_MAX) == 1 ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace farcall::native
