// Interruptions that make races show even on few processors.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <sys/types.h>

namespace farcall::tools {

// The threads of this process but the calling one.
std::vector<pid_t> other_threads();

// While it lives, pauses other threads of this process at random points for short moments.
class Disturbance {
 public:
  explicit Disturbance(uint64_t seed);
  ~Disturbance();
  Disturbance(const Disturbance&) = delete;
  Disturbance& operator=(const Disturbance&) = delete;

 private:
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

// While it lives, pauses the calling thread again and again, a limited number of times. A thread
// has one at a time.
class Interruptions {
 public:
  explicit Interruptions(uint64_t seed);
  ~Interruptions();
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;

 private:
  bool has_timer_;
};

}  // namespace farcall::tools
