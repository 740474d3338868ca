// Stops the other threads of this process for moments at random places, as long as it lives, so
// that few processors do for threads to meet wherever they can.
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
