#include <farcall/core/interrupt.h>
#include <farcall/core/stop.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <exception>
#include <utility>

namespace farcall {
namespace {

std::atomic<InterruptCheck> installed_check{nullptr};
thread_local std::exception_ptr kept;
thread_local const StopScope* innermost = nullptr;

// The check of the front end; null if this thread must not call it.
InterruptCheck check_of_front() {
  InterruptCheck check = installed_check.load(std::memory_order_acquire);
  for (const StopScope* scope = innermost; scope; scope = scope->previous()) {
    if (scope->is_stopped()) [[unlikely]]
      throw StoppedError();
    if (scope->is_helper()) check = nullptr;
  }
  return check;
}

// Accurate to a few milliseconds, and several times cheaper than a precise clock.
int64_t coarse_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

void set_interrupt_check(InterruptCheck check) {
  installed_check.store(check, std::memory_order_release);
}

void check_interrupt() {
  if (const InterruptCheck check = check_of_front()) check();
}

void poll_interrupt() {
  constexpr int64_t kInterval = 20;
  thread_local int64_t last = 0;
  const InterruptCheck check = check_of_front();
  if (!check) return;
  const int64_t now = coarse_milliseconds();
  if (now - last < kInterval) return;
  last = now;
  check();
}

bool poll_interrupt_and_keep() noexcept {
  try {
    poll_interrupt();
    return false;
  } catch (...) {
    keep_interrupt();
    return true;
  }
}

void keep_interrupt() noexcept { kept = std::current_exception(); }

void rethrow_kept_interrupt() {
  if (kept) std::rethrow_exception(std::exchange(kept, nullptr));
}

StopScope::StopScope(const std::atomic<bool>& flag, bool is_helper)
    : flag_(flag), is_helper_(is_helper), previous_(std::exchange(innermost, this)) {}
StopScope::~StopScope() { innermost = previous_; }

StoppedError::StoppedError()
    : Error(ErrorCode::kCancelled, "the run was stopped, because another part of it failed") {}
StoppedError::~StoppedError() = default;
void StoppedError::raise_with(std::string) const { throw *this; }

}  // namespace farcall
