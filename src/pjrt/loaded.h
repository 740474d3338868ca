// Loaded: a program as the plugin has compiled it, on one device or on several at once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pjrt/client.h"

namespace farcall::pjrt {

class Loaded {
 public:
  // Raises what the plugin raises.
  Loaded(std::span<const PjrtDevice* const> devices, std::string& text);
  ~Loaded();
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  // Takes the arguments of each device, and gives the results of each, which are new buffers. Waits
  // for the end where `waits`. Donated arguments are written but for those of the numbers `kept`.
  std::vector<std::vector<CBuffer*>> execute(std::span<const std::vector<CBuffer*>> arguments,
                                             size_t num_results, bool waits,
                                             std::span<const int64_t> kept = {}) const;

  // Between arguments and results; 0 where the plugin does not tell.
  size_t temp_bytes() const;

 private:
  const Plugin& plugin_;
  CLoadedExecutable* executable_ = nullptr;
};

}  // namespace farcall::pjrt
