// Many threads at once: one call site, the registry, types. For the thread sanitizer.
#include <atomic>
#include <latch>
#include <thread>

#include "testing.h"

namespace farcall {
namespace {

using testing::answers_metadata;
using testing::argument;
using testing::result;

constexpr int kThreads = 8;
constexpr int kRuns = 200;

template <typename Body>
void on_all_threads(Body body) {
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      body(i);
    });
  }
  for (auto& thread : threads) thread.join();
}

struct Shared {
  static inline FARCALL_FFI_TypeId id = {};
  static inline std::atomic<int> alive = 0;
  std::atomic<int64_t> calls = 0;
  Shared() { ++alive; }
  ~Shared() { --alive; }
};

FARCALL_FFI_Error* set(FARCALL_FFI_CallFrame* frame) {
  FARCALL_FFI_State_Set_Args args = {sizeof(args), nullptr,     frame->ctx,
                                     frame->stage, &Shared::id, new Shared};
  return frame->api->State_Set(&args);
}

Shared* get(FARCALL_FFI_CallFrame* frame, FARCALL_FFI_ExecutionStage stage) {
  FARCALL_FFI_State_Get_Args args = {sizeof(args), nullptr,     frame->ctx,
                                     stage,        &Shared::id, nullptr};
  EXPECT_EQ(frame->api->State_Get(&args), nullptr);
  return static_cast<Shared*>(args.state);
}

FARCALL_FFI_Error* make_state(FARCALL_FFI_CallFrame* frame) {
  return answers_metadata(frame) ? nullptr : set(frame);
}

// Fails on every tenth call of the execution state.
FARCALL_FFI_Error* work(FARCALL_FFI_CallFrame* frame) {
  if (answers_metadata(frame)) return nullptr;
  ++get(frame, FARCALL_FFI_ExecutionStage_INSTANTIATE)->calls;
  const int64_t own = ++get(frame, FARCALL_FFI_ExecutionStage_INITIALIZE)->calls;
  FARCALL_FFI_DeviceMemory_Allocate_Args memory = {sizeof(memory), nullptr, frame->ctx, 64, 64,
                                                   nullptr};
  EXPECT_EQ(frame->api->DeviceMemory_Allocate(&memory), nullptr);
  *static_cast<int64_t*>(memory.data) = *static_cast<int64_t*>(argument(frame, 0)->data);
  *static_cast<int64_t*>(result(frame, 0)->data) = *static_cast<int64_t*>(memory.data) + own;
  if (own % 10 == 0) return testing::fail(frame, FARCALL_FFI_Error_Code_ABORTED, "the tenth");
  return nullptr;
}

TEST(Concurrency, ThreadsShareACallSite) {
  static const FARCALL_FFI_TypeInfo info = {
      sizeof(info), nullptr, [](void* object) { delete static_cast<Shared*>(object); }};
  register_ffi_type("concurrency.shared", &Shared::id, &info);
  const ShapeDtype s64(DType::kInt64, {});
  const ForeignCall call({.target = make_target("shared", HandlerBundle{.instantiate = make_state,
                                                                        .initialize = make_state,
                                                                        .execute = work}),
                          .arguments = {s64},
                          .results = {s64}});
  std::atomic<int> failures = 0;
  on_all_threads([&](int thread) {
    Invocation invocation(call);
    int64_t x = 1000 * thread, y = 0;
    invocation.set_argument(0, &x);
    invocation.set_result(0, &y);
    const ExecutionOptions options;
    for (int run = 0; run < kRuns; ++run) {
      invocation.begin(options);
      invocation.prepare();
      invocation.initialize();
      for (int i = 1; i <= 10; ++i) {
        try {
          invocation.execute();
        } catch (const FfiError&) {
          ++failures;
        }
        ASSERT_EQ(y, x + i);
      }
      invocation.end();
    }
  });
  EXPECT_EQ(failures, kThreads * kRuns);
  EXPECT_EQ(Shared::alive, 1);
}

TEST(Concurrency, RegistryAndTypes) {
  std::atomic<int64_t> sum = 0;
  on_all_threads([&](int thread) {
    for (int i = 0; i < 50; ++i) {
      const std::string own = "concurrency." + std::to_string(thread) + "." + std::to_string(i);
      register_ffi_target(own, work);
      register_ffi_target("concurrency.same", work);
      EXPECT_EQ(find_target(own)->name(), own);
      EXPECT_TRUE(is_registered("concurrency.same"));
      EXPECT_THROW(find_target(own + "!"), Error);
      FARCALL_FFI_TypeId type = {};
      register_ffi_type(own, &type);
      sum += type.type_id != 0;
    }
  });
  EXPECT_EQ(sum, kThreads * 50);
}

// Another thread completes a future while the caller waits, or before.
TEST(Concurrency, Futures) {
  const auto target = make_target("future", [](FARCALL_FFI_CallFrame* frame) {
    FARCALL_FFI_Future_Create_Args create = {16, nullptr, nullptr};
    EXPECT_EQ(frame->api->Future_Create(&create), nullptr);
    frame->future = create.future;
    FARCALL_FFI_ThreadPool_Schedule_Args schedule = {
        sizeof(schedule), nullptr, frame->ctx,
        [](void* future) {
          FARCALL_FFI_Future_SetAvailable_Args args = {sizeof(args), nullptr,
                                                       static_cast<FARCALL_FFI_Future*>(future)};
          ffi_api()->Future_SetAvailable(&args);
        },
        create.future};
    return frame->api->ThreadPool_Schedule(&schedule);
  });
  const ForeignCall call({.target = target});
  ThreadPool pool(2);
  const ExecutionOptions options = {.thread_pool = &pool};
  on_all_threads([&](int) {
    Invocation invocation(call);
    invocation.begin(options);
    for (int i = 0; i < kRuns; ++i) invocation.execute();
  });
}

}  // namespace
}  // namespace farcall
