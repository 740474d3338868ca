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

// Stops the calling thread once while this lives: some seconds after start_pause(), until `is_over`
// is set, but not long, as the thread may hold a lock that the others need. Sets `has_begun` when
// it stops.
class Pause {
 public:
  Pause(double seconds, std::atomic<bool>& has_begun, const std::atomic<bool>& is_over);
  ~Pause();
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

  double seconds_since_start() const;

 private:
  friend void start_pause();
  friend void wait_in(Pause& pause);
  void start();

  double seconds_, start_ = 0;
  std::atomic<bool>& has_begun_;
  const std::atomic<bool>& is_over_;
  bool has_timer_;
};

// Lets the time of the calling thread's Pause, if it has one, begin, unless it has begun already.
void start_pause();

// Sleeps until the flag is set.
void wait_for(const std::atomic<bool>& flag);

}  // namespace farcall::tools
