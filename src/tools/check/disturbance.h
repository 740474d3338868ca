// While it lives, pauses other threads of this process at random points for short moments, so that
// races show even on few processors.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace farcall::tools {

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

}  // namespace farcall::tools
