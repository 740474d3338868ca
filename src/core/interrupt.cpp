#include <farcall/core/interrupt.h>

#include <atomic>

namespace farcall {
namespace {

std::atomic<InterruptCheck> installed{nullptr};

}  // namespace

void set_interrupt_check(InterruptCheck check) {
  installed.store(check, std::memory_order_release);
}

void check_interrupt() {
  if (const InterruptCheck check = installed.load(std::memory_order_acquire)) check();
}

}  // namespace farcall
