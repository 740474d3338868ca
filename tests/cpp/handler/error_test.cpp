// Errors as values, exceptions thrown by handlers, futures, and dispatch over dtypes.
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "frame.h"

namespace ffi = farcall::ffi;
using ffi::testing::Frame;
using ffi::testing::invalid;
using ffi::testing::ok;
using ffi::testing::Outcome;

namespace {

TEST(Error, SuccessHasNoMessage) {
  const ffi::Error error;
  EXPECT_TRUE(error.success());
  EXPECT_FALSE(error.failure());
  EXPECT_EQ(error.errc(), ffi::ErrorCode::kOk);
  EXPECT_EQ(error.message(), "");
  EXPECT_TRUE(ffi::Error::Success().success());
  EXPECT_TRUE(ffi::Error(ffi::ErrorCode::kOk, "ignored").success());
}

TEST(Error, EachCodeHasAMaker) {
  const std::string text = "why";
  EXPECT_EQ(ffi::Error::Cancelled(text).errc(), ffi::ErrorCode::kCancelled);
  EXPECT_EQ(ffi::Error::InvalidArgument(text).errc(), ffi::ErrorCode::kInvalidArgument);
  EXPECT_EQ(ffi::Error::Unauthenticated(text).errc(), ffi::ErrorCode::kUnauthenticated);
  EXPECT_EQ(ffi::Error(FARCALL_FFI_Error_Code_DATA_LOSS, "x").errc(), ffi::ErrorCode::kDataLoss);
  EXPECT_EQ(ffi::Error::Internal(text).message(), "why");
}

TEST(Error, CopiesAndMovesKeepTheText) {
  ffi::Error error = ffi::Error::NotFound("here");
  const ffi::Error copy = error;
  const ffi::Error moved = std::move(error);
  EXPECT_EQ(copy.message(), "here");
  EXPECT_EQ(moved.message(), "here");
  error = copy;
  EXPECT_EQ(error.errc(), ffi::ErrorCode::kNotFound);
  error = ffi::Error();
  EXPECT_TRUE(error.success());
}

TEST(ErrorOr, HoldsAValueOrAnError) {
  ffi::ErrorOr<std::string> value = std::string("text");
  EXPECT_TRUE(value.has_value());
  EXPECT_EQ(value->size(), 4u);
  EXPECT_EQ(*std::move(value), "text");
  ffi::ErrorOr<std::string> error = ffi::Unexpected(ffi::Error::Aborted("no"));
  EXPECT_TRUE(error.has_error());
  EXPECT_FALSE(error);
  EXPECT_EQ(error.error().message(), "no");
}

TEST(ErrorOr, CopiesMovesAndAssignsBoth) {
  ffi::ErrorOr<std::string> value = std::string("text");
  ffi::ErrorOr<std::string> error = ffi::Error::Aborted("no");
  const ffi::ErrorOr<std::string> copy = value;
  EXPECT_EQ(*copy, "text");
  EXPECT_EQ(*value, "text");
  value = error;
  EXPECT_TRUE(value.has_error());
  EXPECT_EQ(value.error().message(), "no");
  error = copy;
  EXPECT_EQ(*error, "text");
  EXPECT_TRUE(error.error().success());
  error = std::move(value);
  EXPECT_EQ(error.error().message(), "no");
  error = *&error;
  EXPECT_EQ(error.error().message(), "no");
}

TEST(ErrorOr, HoldsWhatCanOnlyBeMoved) {
  ffi::ErrorOr<std::unique_ptr<int>> owner = std::make_unique<int>(3);
  ffi::ErrorOr<std::unique_ptr<int>> other = std::move(owner);
  EXPECT_EQ(**other, 3);
  EXPECT_EQ(*owner, nullptr);
  owner = std::move(other);
  EXPECT_EQ(**owner, 3);
  std::vector<ffi::ErrorOr<std::unique_ptr<int>>> many;
  for (int i = 0; i < 9; ++i) many.emplace_back(std::make_unique<int>(i));
  EXPECT_EQ(**many[4], 4);
}

// ---- what a handler returns or throws ---------------------------------------------------------

ffi::Error Fails(std::string_view how) {
  if (how == "value") return ffi::Error(ffi::ErrorCode::kUnavailable, "come back later");
  if (how == "exception") throw std::runtime_error("boom");
  if (how == "other") throw 7;
  return ffi::Error::Success();
}
FARCALL_DEFINE_HANDLER(fails, Fails, "how");

TEST(Handler, ReturnsErrorsAsTheyAreAndExceptionsAsInternal) {
  Frame frame;
  frame.attrs.string("how", "not");
  EXPECT_EQ(frame.call(fails), ok());
  frame.attrs.string("how", "value");
  EXPECT_EQ(frame.call(fails), (Outcome{ffi::ErrorCode::kUnavailable, "come back later"}));
  frame.attrs.string("how", "exception");
  EXPECT_EQ(frame.call(fails), (Outcome{ffi::ErrorCode::kInternal, "fails: boom"}));
  frame.attrs.string("how", "other");
  EXPECT_EQ(frame.call(fails), (Outcome{ffi::ErrorCode::kInternal, "fails: unknown exception"}));
  EXPECT_EQ(ffi::testing::live_errors, 0);
}

// ---- futures ------------------------------------------------------------------------------------

enum class When : int32_t { kBefore, kLater, kNever };

// Held while a handler runs; a later completion waits for its return.
std::mutex is_running;

ffi::Future Starts(When when, bool fails) {
  ffi::Promise promise;
  ffi::Future future(promise);
  auto finish = [fails](ffi::Promise& p) {
    if (fails) {
      p.SetError(ffi::Error::Aborted("stopped"));
    } else {
      p.SetAvailable();
    }
  };
  if (when == When::kBefore) finish(promise);
  if (when == When::kLater) {
    std::thread([promise, finish]() mutable {
      const std::lock_guard<std::mutex> has_returned(is_running);
      finish(promise);
    }).detach();
  }
  return future;
}
FARCALL_DEFINE_HANDLER(starts, Starts, "when", "fails");

struct Started {
  Outcome outcome;
  FARCALL_FFI_Future* future;
};
Started start(When when, bool fails, int minor) {
  Frame frame(minor);
  frame.attrs.scalar("when", static_cast<int32_t>(when)).scalar("fails", fails);
  std::unique_lock<std::mutex> running(is_running, std::defer_lock);
  if (minor > 0) running.lock();  // before futures, the handler itself waits for the result
  const Outcome outcome = frame.call(starts);
  return {outcome, frame.frame.future};
}
Outcome wait(FARCALL_FFI_Future* future) {
  while (!future->is_done) std::this_thread::yield();
  Outcome outcome = ffi::testing::take(future->error);
  delete future;
  return outcome;
}

TEST(Future, AFinishedOneNeedsNoFuture) {
  EXPECT_EQ(start(When::kBefore, false, 5).outcome, ok());
  EXPECT_EQ(start(When::kBefore, false, 5).future, nullptr);
  const Started failed = start(When::kBefore, true, 5);
  EXPECT_EQ(failed.outcome, (Outcome{ffi::ErrorCode::kAborted, "stopped"}));
  EXPECT_EQ(failed.future, nullptr);
}

TEST(Future, ALaterOneIsSignalled) {
  const Started started = start(When::kLater, false, 1);
  EXPECT_EQ(started.outcome, ok());
  ASSERT_NE(started.future, nullptr);
  EXPECT_EQ(wait(started.future), ok());
  EXPECT_EQ(wait(start(When::kLater, true, 5).future),
            (Outcome{ffi::ErrorCode::kAborted, "stopped"}));
}

TEST(Future, ARuntimeWithoutFuturesGetsTheResultItself) {
  const Started started = start(When::kLater, true, 0);
  EXPECT_EQ(started.outcome, (Outcome{ffi::ErrorCode::kAborted, "stopped"}));
  EXPECT_EQ(started.future, nullptr);
}

TEST(Future, ADroppedPromiseFailsTheCall) {
  EXPECT_EQ(
      start(When::kNever, false, 5).outcome,
      (Outcome{ffi::ErrorCode::kInternal, "the promise was dropped before it was fulfilled"}));
}

TEST(CountDownPromise, CompletesWithTheLastPart) {
  ffi::CountDownPromise promise(3);
  ffi::Future future(promise);
  int calls = 0;
  future.OnReady([&](const std::optional<ffi::Error>& error) {
    ++calls;
    EXPECT_FALSE(error.has_value());
  });
  EXPECT_FALSE(promise.CountDown());
  EXPECT_FALSE(promise.CountDown());
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(promise.CountDown());
  EXPECT_EQ(calls, 1);
}

TEST(CountDownPromise, KeepsTheFirstError) {
  ffi::CountDownPromise promise(4);
  ffi::Future future(promise);
  EXPECT_FALSE(promise.CountDown(ffi::Error::Aborted("first")));
  EXPECT_FALSE(promise.CountDown(ffi::Error::Internal("second")));
  EXPECT_TRUE(promise.CountDown(2));
  std::string message;
  future.OnReady([&](const std::optional<ffi::Error>& error) { message = error->message(); });
  EXPECT_EQ(message, "first");
}

// ---- dispatch -----------------------------------------------------------------------------------

ffi::Error Fill(ffi::Result<ffi::AnyBuffer> y) {
  return ffi::dispatch(ffi::kFloats | ffi::kSignedInts, y->element_type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    static_assert(sizeof(T) == ffi::ByteWidth(decltype(tag)::value));
    *y->typed_data<T>() = static_cast<T>(3.0f);
  });
}
FARCALL_DEFINE_HANDLER(fill, Fill);

TEST(Dispatch, CallsTheCodeOfTheDtype) {
  int16_t s16 = 0;
  ffi::bfloat16 bf16(0.0f);
  EXPECT_EQ(Frame().ret(ffi::S16, {}, &s16).call(fill), ok());
  EXPECT_EQ(Frame().ret(ffi::BF16, {}, &bf16).call(fill), ok());
  EXPECT_EQ(s16, 3);
  EXPECT_EQ(bf16, 3.0f);
}

TEST(Dispatch, OtherDtypesGetAListOfTheSupported) {
  EXPECT_EQ(Frame().ret(ffi::U8, {}).call(fill),
            invalid("dtype u8 is not supported; wanted f16, bf16, f32, f64, s8, s16, s32 or s64"));
  const ffi::Error error = ffi::dispatch<ffi::F32>(ffi::PRED, [](auto) {});
  EXPECT_EQ(error.message(), "dtype pred is not supported; wanted f32");
}

TEST(Dispatch, PassesOnTheErrorOfTheCode) {
  const ffi::Error error = ffi::dispatch<ffi::F32, ffi::C64>(
      ffi::C64, [](auto) { return ffi::Error::Aborted("no complex today"); });
  EXPECT_EQ(error.errc(), ffi::ErrorCode::kAborted);
}

}  // namespace
