// Loaded: a program that the plugin has compiled, for one device or several at once.
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

  // Takes the arguments for each device, and returns each device's results as new buffers. If
  // `waits`, returns when execution has finished. Donated arguments are overwritten, except for
  // those numbered in `kept`. `context` is what handlers can read; it may be null.
  std::vector<std::vector<CBuffer*>> execute(std::span<const std::vector<CBuffer*>> arguments,
                                             size_t num_results, bool waits,
                                             std::span<const int64_t> kept = {},
                                             CExecuteContext* context = nullptr) const;

  // Bytes of temporary memory; 0 if the plugin does not report it.
  size_t temp_bytes() const;

 private:
  const Plugin& plugin_;
  CLoadedExecutable* executable_ = nullptr;
};

}  // namespace farcall::pjrt
