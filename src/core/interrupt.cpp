#include <farcall/core/interrupt.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <exception>
#include <utility>

namespace farcall {
namespace {

std::atomic<InterruptCheck> installed_check{nullptr};
thread_local std::exception_ptr kept;

// Right to a few milliseconds, and several times cheaper to read than a precise one.
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
  if (const InterruptCheck check = installed_check.load(std::memory_order_acquire)) check();
}

void poll_interrupt() {
  constexpr int64_t kInterval = 20;
  thread_local int64_t last = 0;
  const InterruptCheck check = installed_check.load(std::memory_order_acquire);
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
    kept = std::current_exception();
    return true;
  }
}

void rethrow_kept_interrupt() {
  if (kept) std::rethrow_exception(std::exchange(kept, nullptr));
}

}  // namespace farcall
