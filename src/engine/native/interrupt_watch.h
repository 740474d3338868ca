// Checks for interrupts about every 20 ms. Reads the clock every 1 to 4 ms, not at every step.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <farcall/core/interrupt.h>

namespace farcall::native {

class InterruptWatch {
 public:
  // Reads the clock for the first time after `first_steps` steps.
  explicit InterruptWatch(int64_t first_steps) : steps_(first_steps), left_(first_steps) {}

  // Call it after each step. Raises what the front end raises to stop the program.
  void step() {
    if (--left_ <= 0) [[unlikely]]
      look();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void look() {
    const Clock::time_point now = Clock::now();
    if (last_look_ != Clock::time_point()) {
      // Adapts the number of steps so that the clock is read every 1 to 4 ms.
      const auto elapsed = now - last_look_;
      if (elapsed < std::chrono::milliseconds(1)) steps_ = std::min<int64_t>(2 * steps_, 1 << 20);
      if (elapsed > std::chrono::milliseconds(4)) steps_ = std::max<int64_t>(steps_ / 4, 1);
    } else {
      last_check_ = now;
    }
    last_look_ = now;
    left_ = steps_;
    if (now - last_check_ < std::chrono::milliseconds(20)) return;
    last_check_ = now;
    check_interrupt();
  }

  int64_t steps_, left_;
  Clock::time_point last_look_, last_check_;
};

// How many runs of something with this cost take well below a millisecond.
inline int64_t brief_steps(int64_t cost) {
  return std::clamp<int64_t>((int64_t{1} << 20) / std::max<int64_t>(cost, 1), 1, 1024);
}

}  // namespace farcall::native
