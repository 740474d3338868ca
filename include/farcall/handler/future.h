// Results that arrive after the handler has returned.
//
// The handler creates a Promise, starts its work, and returns Future(promise). The work ends with
// SetAvailable or SetError, from any thread, exactly once. The runtime keeps buffers and attributes
// alive until then. If a promise is destroyed unfulfilled, the call fails.
#pragma once

#include <farcall/handler/error.h>

#include <atomic>
#include <cassert>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace farcall::ffi {
namespace detail {

// Shared by one future and the copies of its promise; the last owner deletes it.
class FutureState {
 public:
  using Waiter = void (*)(void* data, const std::optional<Error>& error);

  void add_promise() { promises_.fetch_add(1, std::memory_order_relaxed); }
  void drop_promise() {
    if (promises_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (has_future_ && phase_.load(std::memory_order_acquire) != kDone) {
      fail(Error::Internal("the promise was dropped before it was fulfilled"));
    }
    release();
  }
  void add_future() {
    assert(!has_future_ && "a promise has one future");
    has_future_ = true;
    owners_.fetch_add(1, std::memory_order_relaxed);
  }
  void release() {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  void fail(Error error) {
    assert(!is_done() && "a promise is fulfilled once");
    error_ = std::move(error);
    complete();
  }
  void complete() {
    const int before = phase_.exchange(kDone, std::memory_order_acq_rel);
    assert(before != kDone && "a promise is fulfilled once");
    if (before == kWaited) waiter_(data_, error_);
  }

  // Calls the waiter here if the result is there already, else from complete().
  void wait(Waiter waiter, void* data) {
    waiter_ = waiter;
    data_ = data;
    int expected = kPending;
    if (!phase_.compare_exchange_strong(expected, kWaited, std::memory_order_acq_rel)) {
      waiter(data, error_);
    }
  }

  bool is_done() const { return phase_.load(std::memory_order_acquire) == kDone; }
  const std::optional<Error>& error() const { return error_; }

 private:
  enum Phase : int { kPending, kWaited, kDone };

  std::atomic<int> owners_{1};  // all promises count as one; the future as another
  std::atomic<int> promises_{1};
  std::atomic<int> phase_{kPending};
  bool has_future_ = false;
  Waiter waiter_ = nullptr;
  void* data_ = nullptr;
  std::optional<Error> error_;
};

}  // namespace detail

class Promise {
 public:
  Promise() : state_(new detail::FutureState) {}
  Promise(const Promise& other) : state_(other.state_) { state_->add_promise(); }
  Promise(Promise&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Promise& operator=(Promise other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Promise() {
    if (state_ != nullptr) state_->drop_promise();
  }

  void SetAvailable() { state_->complete(); }
  void SetError(Error error) {
    assert(error.failure());
    state_->fail(std::move(error));
  }

 private:
  friend class Future;
  detail::FutureState* state_;
};

// Fulfils its promise when `count` parts are done, with an error if any part failed.
class CountDownPromise {
 public:
  CountDownPromise() = default;
  explicit CountDownPromise(int64_t count) : CountDownPromise(Promise(), count) {}
  CountDownPromise(Promise promise, int64_t count) : state_(new State(std::move(promise), count)) {
    assert(count > 0);
  }
  CountDownPromise(const CountDownPromise& other) : state_(other.state_) {
    if (state_ != nullptr) state_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  CountDownPromise(CountDownPromise&& other) noexcept
      : state_(std::exchange(other.state_, nullptr)) {}
  CountDownPromise& operator=(CountDownPromise other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~CountDownPromise() {
    if (state_ != nullptr && state_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete state_;
    }
  }

  // Returns true for the call that completes the promise.
  bool CountDown(size_t count, const Error& error = Error::Success()) {
    if (error.failure() && !state_->has_error.exchange(true, std::memory_order_acq_rel)) {
      state_->error = error;  // only the first failure writes; the countdown publishes it
    }
    const auto parts = static_cast<int64_t>(count);
    const int64_t left = state_->left.fetch_sub(parts, std::memory_order_acq_rel);
    assert(left >= parts && "more parts are done than there are");
    if (left != parts) return false;
    if (state_->has_error.load(std::memory_order_acquire)) {
      state_->promise.SetError(std::move(state_->error));
    } else {
      state_->promise.SetAvailable();
    }
    return true;
  }
  bool CountDown(Error error = Error::Success()) { return CountDown(1, error); }

 private:
  friend class Future;

  struct State {
    State(Promise to_fulfil, int64_t count) : promise(std::move(to_fulfil)), left(count) {}
    Promise promise;
    Error error;
    std::atomic<int64_t> left;
    std::atomic<bool> has_error{false};
    std::atomic<int> owners{1};
  };
  State* state_ = nullptr;
};

class Future {
 public:
  explicit Future(const Promise& promise) : state_(promise.state_) { state_->add_future(); }
  explicit Future(const CountDownPromise& promise) : Future(promise.state_->promise) {}
  Future(Future&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Future& operator=(Future&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Future() {
    if (state_ != nullptr) state_->release();
  }

  // Calls `f(const std::optional<Error>&)` once: immediately if the result is there, else on the
  // thread that fulfils the promise. May be called only once.
  template <typename F>
  void OnReady(F&& f) {
    using Function = std::decay_t<F>;
    static_assert(std::is_invocable_v<Function&, const std::optional<Error>&>,
                  "farcall: OnReady takes a function of const std::optional<Error>&");
    state_->wait(
        +[](void* data, const std::optional<Error>& error) {
          auto* function = static_cast<Function*>(data);
          (*function)(error);
          delete function;
        },
        new Function(std::forward<F>(f)));
  }

  bool is_done() const { return state_->is_done(); }

  // Empty for success; valid once is_done().
  const std::optional<Error>& error() const { return state_->error(); }

 private:
  detail::FutureState* state_;
};

}  // namespace farcall::ffi
