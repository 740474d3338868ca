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

// Where a stopped thread meets others. It sets `has_begun`, then waits until `is_over`: until they
// have made their calls, or until the one that is making its call, `caller`, waits for the stopped
// thread. Waiting on a lock is right, so this ends the stop.
struct Meeting {
  std::atomic<bool> has_begun{false}, is_over{false};
  std::atomic<pid_t> caller{0};  // 0: none

  void wait();  // also in a signal handler
};

// Stops the calling thread once while this lives, so many seconds after start_pause().
class Pause {
 public:
  Pause(double seconds, Meeting& meeting);
  ~Pause();
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

  double seconds_since_start() const;
  Meeting& meeting() const { return meeting_; }

 private:
  friend void start_pause();
  void start();

  double seconds_, start_ = 0;
  Meeting& meeting_;
  bool has_timer_;
};

// Lets the time of the calling thread's Pause, if it has one, begin, unless it has begun already.
void start_pause();

pid_t thread_id();
void sleep_a_moment();

}  // namespace farcall::tools
