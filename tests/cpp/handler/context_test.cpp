// Context items: what the runtime provides, errors for what it does not provide, scratch memory,
// the thread pool and its parallel loop.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "frame.h"

namespace ffi = farcall::ffi;
using ffi::testing::Attributes;
using ffi::testing::Frame;
using ffi::testing::invalid;
using ffi::testing::ok;

namespace {

struct FakeStream;

void Items(ffi::PlatformStream<FakeStream*> stream, ffi::DeviceOrdinal device, ffi::RunId run,
           ffi::ExecutionStage stage, ffi::Context context, ffi::Stream same) {
  FakeStream* pointer = stream;
  EXPECT_EQ(static_cast<void*>(pointer), same.get());
  EXPECT_EQ(device, 3);
  EXPECT_EQ(run.run_id, 77);
  EXPECT_EQ(stage, ffi::ExecutionStage::kExecute);
  EXPECT_EQ(context.stage(), stage);
  EXPECT_NE(context.api(), nullptr);
  EXPECT_EQ(context.get<ffi::RunId>()->run_id, 77);
}
FARCALL_DEFINE_HANDLER(items, Items);

TEST(Context, ItemsArePassedByType) {
  Frame frame;
  frame.context.stream = &frame;
  EXPECT_EQ(frame.call(items), ok());
}

void Needs(ffi::Stream, ffi::CustomOptions, ffi::Buffer<ffi::F32>) {}
FARCALL_DEFINE_HANDLER(needs, Needs);

TEST(Context, MissingItemsJoinTheOtherMistakes) {
  EXPECT_EQ(
      Frame(3).arg(ffi::S8, {}).call(needs),
      invalid("needs: 3 problems: argument 0: wanted f32, got s8[]; stream: there is no stream "
              "on this device; custom options: the runtime does not offer it"));
  EXPECT_EQ(ffi::testing::live_errors, 0);
}

TEST(Context, ATableOfVersionZeroLacksLaterItems) {
  Frame frame(0);
  frame.context.stream = &frame;
  EXPECT_EQ(frame.call(items),
            invalid("items: 2 problems: device ordinal: the runtime is too old for it (interface "
                    "0.0); run id: the runtime is too old for it (interface 0.0)"));
}

void MayNeed(std::optional<ffi::Stream> stream, std::optional<ffi::CustomOptions> options) {
  EXPECT_FALSE(stream.has_value());
  EXPECT_FALSE(options.has_value());
}
FARCALL_DEFINE_HANDLER(may_need, MayNeed);

TEST(Context, OptionalItemsMayBeAbsent) { EXPECT_EQ(Frame(1).call(may_need), ok()); }

void Options(ffi::CustomOptions options) { EXPECT_EQ(*options.get<int64_t>("level"), 3); }
FARCALL_DEFINE_HANDLER(options, Options);

TEST(Context, CustomOptionsAreADictionary) {
  Attributes given;
  given.scalar("level", int64_t{3});
  Frame frame;
  frame.context.custom_options = given.get();
  EXPECT_EQ(frame.call(options), ok());
}

struct RecordExtension {
  FARCALL_FFI_Extension base;
  int number;
};
struct Record {
  using CExtension = RecordExtension;
  static constexpr int64_t kExtensionType = 42;
  static constexpr int32_t kMajorVersion = 1;
  static constexpr int32_t kMinorVersion = 2;
};
void Extended(ffi::Extension<Record> record) { EXPECT_EQ(record->number, 9); }
FARCALL_DEFINE_HANDLER(extended, Extended);

TEST(Context, ExtensionsAreFoundByTypeAndVersion) {
  RecordExtension extension = {{sizeof(RecordExtension), {42, 1, 3}, nullptr}, 9};
  Frame frame;
  EXPECT_EQ(frame.call(extended), invalid("extended: extension: the context does not have it"));
  frame.context.extension = &extension.base;
  EXPECT_EQ(frame.call(extended), ok());
  extension.base.id.minor_version = 1;
  EXPECT_EQ(frame.call(extended), invalid("extended: extension: wanted version 1.2, got 1.1"));
}

// ---- scratch memory -----------------------------------------------------------------------------

ffi::Error Scratch(ffi::ScratchAllocator scratch) {
  std::optional<void*> first = scratch.Allocate(100, 64);
  if (!first) return scratch.try_allocate(100).error();
  *static_cast<char*>(*first) = 1;
  EXPECT_TRUE(scratch.Allocate(7).has_value());
  return ffi::Error::Success();
}
FARCALL_DEFINE_HANDLER(scratch, Scratch);

TEST(Context, ScratchMemoryIsFreedWithTheCall) {
  Frame frame;
  EXPECT_EQ(frame.call(scratch), ok());
  EXPECT_EQ(frame.context.allocated, (std::vector<std::pair<size_t, size_t>>{{100, 64}, {7, 1}}));
  EXPECT_EQ(frame.context.freed, (std::vector<size_t>{7, 100}));
}

TEST(Context, ExhaustedMemoryIsNoCrash) {
  Frame frame;
  frame.context.out_of_memory = true;
  EXPECT_EQ(frame.call(scratch),
            (ffi::testing::Outcome{ffi::ErrorCode::kResourceExhausted, "full"}));
  EXPECT_EQ(ffi::testing::live_errors, 0);
}

// ---- threads ------------------------------------------------------------------------------------

void Square(ffi::ThreadPool pool, ffi::ResultBuffer<ffi::S64> y, int64_t grain) {
  int64_t* out = y->typed_data();
  pool.parallel_for(
      static_cast<int64_t>(y->element_count()), [=](int64_t i) { out[i] += i * i; }, grain);
}
FARCALL_DEFINE_HANDLER(square, Square, "grain");

void expect_squares(int64_t size, int64_t num_threads, int64_t grain, bool holds_tasks = false) {
  std::vector<int64_t> out(static_cast<size_t>(size));
  Frame frame;
  frame.context.num_threads = num_threads;
  frame.context.holds_tasks = holds_tasks;
  frame.ret(ffi::S64, {size}, out.data());
  frame.attrs.scalar("grain", grain);
  EXPECT_EQ(frame.call(square), ok());
  for (int64_t i = 0; i < size; ++i) ASSERT_EQ(out[static_cast<size_t>(i)], i * i);
  frame.context.run_held();  // late tasks have no work left
  for (int64_t i = 0; i < size; ++i) ASSERT_EQ(out[static_cast<size_t>(i)], i * i);
}

TEST(ThreadPool, ParallelForDoesEachIndexOnce) {
  for (int64_t size : {0, 1, 2, 7, 64, 1000}) {
    for (int64_t threads : {0, 1, 3, 16}) {
      for (int64_t grain : {0, 1, 10, 5000}) expect_squares(size, threads, grain);
    }
  }
}

std::mutex pieces_mutex;
std::vector<int64_t> pieces;
void Splits(ffi::ThreadPool pool, int64_t size, int64_t grain) {
  pool.parallel_for(
      size,
      [](int64_t begin, int64_t end) {
        const std::lock_guard<std::mutex> lock(pieces_mutex);
        pieces.push_back(end - begin);
      },
      grain);
}
FARCALL_DEFINE_HANDLER(splits, Splits, "size", "grain");

TEST(ThreadPool, NoPieceButTheLastIsSmallerThanTheGrain) {
  for (int64_t grain : {1, 7, 10, 100}) {
    pieces.clear();
    Frame frame;
    frame.context.num_threads = 4;
    frame.attrs.scalar("size", int64_t{95}).scalar("grain", grain);
    EXPECT_EQ(frame.call(splits), ok());
    frame.context.join();
    std::sort(pieces.begin(), pieces.end());
    EXPECT_EQ(std::accumulate(pieces.begin(), pieces.end(), int64_t{0}), 95);
    if (pieces.size() > 1) {
      EXPECT_GE(pieces[1], grain);
    }
  }
}

TEST(ThreadPool, ParallelForEndsThoughThePoolNeverRunsItsTasks) {
  expect_squares(1000, 4, 1, /*holds_tasks=*/true);
}

ffi::Error Throws(ffi::ThreadPool pool) {
  pool.parallel_for(100, [](int64_t begin, int64_t end) {
    if (begin <= 50 && 50 < end) throw std::runtime_error("bad piece");
  });
  return ffi::Error::Success();
}
FARCALL_DEFINE_HANDLER(throws_in_pool, Throws);

TEST(ThreadPool, AnExceptionInAPieceReachesTheCaller) {
  for (int64_t threads : {0, 4}) {
    Frame frame;
    frame.context.num_threads = threads;
    EXPECT_EQ(frame.call(throws_in_pool),
              (ffi::testing::Outcome{ffi::ErrorCode::kInternal, "throws_in_pool: bad piece"}));
  }
}

std::atomic<int> scheduled{0};
void Schedules(ffi::ThreadPool pool) {
  pool.Schedule([] { ++scheduled; });
  pool.Schedule([] { ++scheduled; });
}
FARCALL_DEFINE_HANDLER(schedules, Schedules);

TEST(ThreadPool, TasksRunInThePoolOrHere) {
  scheduled = 0;
  Frame here;
  EXPECT_EQ(here.call(schedules), ok());
  EXPECT_EQ(scheduled, 2);
  Frame there;
  there.context.num_threads = 2;
  EXPECT_EQ(there.call(schedules), ok());
  there.context.join();
  EXPECT_EQ(scheduled, 4);
}

}  // namespace
