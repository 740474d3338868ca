// One executable on many threads, and many executables: correct results, separate run ids, and no
// state shared between executions. Also for the thread sanitizer.
#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "calls.h"

namespace farcall::native {
namespace {

using testing::add_one;
using testing::Call;
using testing::f32;

constexpr int kThreads = 8;
constexpr int kRuns = 200;

template <class Body>
void on_threads(Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

// -(x + n), by foreign calls, in-place kernels and alias copies.
Array minus_sum(const Array& x, int n) {
  Array y = x;
  for (int i = 0; i < n; ++i) {
    y = testing::call(
        add_one(), {y}, f32({64}),
        {.input_layouts = {}, .output_layouts = {}, .input_output_aliases = {{0, 0}}});
  }
  return lax::neg(y);
}

void expect_run(const std::function<Array(const Array&)>& f, float start, int n,
                std::atomic<int>& failures) {
  const Array x = testing::array_of(testing::iota(64, start), {64});
  const Array y = f(x);
  const auto values = y.values<float>();
  for (int i = 0; i < 64; ++i) {
    if (values[static_cast<size_t>(i)] != -(start + static_cast<float>(i + n))) ++failures;
  }
}

TEST(Threads, OneExecutable) {
  const auto f = farcall::jit([](const Array& x) { return minus_sum(x, 5); });
  std::atomic<int> failures{0};
  on_threads([&](int thread) {
    for (int run = 0; run < kRuns; ++run) {
      expect_run(f, static_cast<float>(thread * 1000 + run), 5, failures);
    }
  });
  EXPECT_EQ(failures, 0);
}

TEST(Threads, AnExecutableEach) {
  std::atomic<int> failures{0};
  on_threads([&](int thread) {
    const auto f = farcall::jit([thread](const Array& x) { return minus_sum(x, thread); });
    for (int run = 0; run < kRuns; ++run) {
      expect_run(f, static_cast<float>(run), thread, failures);
    }
  });
  EXPECT_EQ(failures, 0);
}

TEST(Threads, EightExecutablesOnEightThreads) {
  std::vector<std::function<Array(const Array&)>> functions;
  for (int n = 0; n < kThreads; ++n) {
    functions.push_back(farcall::jit([n](const Array& x) { return minus_sum(x, n); }));
  }
  std::atomic<int> failures{0};
  on_threads([&](int thread) {
    for (int run = 0; run < kRuns; ++run) {
      const int n = (thread + run) % kThreads;
      expect_run(functions[static_cast<size_t>(n)], static_cast<float>(run), n, failures);
    }
  });
  EXPECT_EQ(failures, 0);
}

TEST(Threads, TheFirstCallsOfManySignaturesAtOnce) {
  const auto f = farcall::jit([](const Array& x) { return lax::add(x, x); });
  std::atomic<int> failures{0};
  on_threads([&](int) {
    for (int64_t size = 1; size < 60; ++size) {
      const Array y = f(numpy::ones(Shape{size}));
      if (y.size() != size || y.values<float>()[0] != 2) ++failures;
    }
  });
  EXPECT_EQ(failures, 0);
}

TEST(Threads, EagerCallsAndTheFirstCallsOfOneTarget) {
  const FfiCall call(add_one(), {f32({64})});
  std::atomic<int> failures{0};
  on_threads([&](int thread) {
    for (int run = 0; run < kRuns; ++run) {
      const Array x = testing::array_of(testing::iota(64, static_cast<float>(thread)), {64});
      const Array y = lax::neg(call({x}, {{"run", run % 80}})[0]);
      if (y.values<float>()[3] != -static_cast<float>(thread) - 4) ++failures;
    }
  });
  EXPECT_EQ(failures, 0);
}

TEST(Threads, RunIdsAreNeverShared) {
  static std::mutex mutex;
  static std::multiset<int64_t> ids;
  ids.clear();
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    FARCALL_FFI_RunId_Get_Args run = {sizeof(run), nullptr, call.frame->ctx, 0};
    if (FARCALL_FFI_Error* error = call.frame->api->RunId_Get(&run)) return error;
    std::lock_guard lock(mutex);
    ids.insert(run.run_id);
    return nullptr;
  });
  const auto f = farcall::jit([](const Array& x) {
    FfiCall(name, {}, {.has_side_effect = true})({x});
    FfiCall(name, {}, {.has_side_effect = true})({x});
    return x;
  });
  on_threads([&](int) {
    for (int run = 0; run < kRuns; ++run) f(Array::scalar(1.f));
  });
  EXPECT_EQ(ids.size(), 2u * kThreads * kRuns);
  for (const int64_t id : ids) ASSERT_EQ(ids.count(id), 2u);
}

TEST(Threads, FailuresOnSomeThreadsDoNotReachOthers) {
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    if (call.in(0)[0] < 0) return call.fail(FARCALL_FFI_Error_Code_ABORTED, "negative");
    call.out(0)[0] = call.in(0)[0];
    return nullptr;
  });
  const auto f = farcall::jit([](const Array& x) { return testing::call(name, {x}, f32({})); });
  std::atomic<int> failures{0};
  on_threads([&](int thread) {
    for (int run = 0; run < kRuns; ++run) {
      const bool should_fail = thread % 2 == 1;
      try {
        const float value = f(Array::scalar(should_fail ? -1.f : 3.f)).item<float>();
        if (should_fail || value != 3) ++failures;
      } catch (const FfiError&) {
        if (!should_fail) ++failures;
      }
    }
  });
  EXPECT_EQ(failures, 0);
}

TEST(Threads, MoreCallsAtOnceThanStatesAreKept) {
  // Each level of recursion holds an execution state; deeper than the pool of states.
  static std::function<Array(const Array&)> f;
  static const std::string name = testing::add_target([](Call call) -> FARCALL_FFI_Error* {
    const float n = call.in(0)[0];
    call.out(0)[0] = n == 0 ? 0 : 1 + f(Array::scalar(n - 1)).item<float>();
    return nullptr;
  });
  f = farcall::jit([](const Array& x) { return testing::call(name, {x}, f32({})); });
  std::atomic<int> failures{0};
  on_threads([&](int) {
    for (int run = 0; run < 5; ++run) {
      if (f(Array::scalar(30.f)).item<float>() != 30) ++failures;
    }
  });
  EXPECT_EQ(failures, 0);
  f = nullptr;
}

}  // namespace
}  // namespace farcall::native
