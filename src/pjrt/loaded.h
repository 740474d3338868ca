// Loaded: a program that the plugin has compiled, for one device or several at once.
#pragma once

#include <span>
#include <string>

#include "pjrt/client.h"

namespace farcall::pjrt {

class Loaded {
 public:
  // Raises what the plugin raises.
  Loaded(std::span<const PjrtDevice* const> devices, std::string& text);
  ~Loaded();
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  // Takes the arguments of the first device, then those of the second, and so on; sets `results`,
  // in the same order, to new buffers. If `waits`, returns when execution has finished. Donated
  // arguments are overwritten, except for those numbered in `kept`. `context` is what handlers can
  // read; it may be null.
  void execute(std::span<CBuffer* const> arguments, std::span<CBuffer*> results, bool waits,
               std::span<const int64_t> kept = {}, CExecuteContext* context = nullptr) const;

  // Bytes of temporary memory; 0 if the plugin does not report it.
  size_t temp_bytes() const;

 private:
  const Plugin& plugin_;
  const size_t num_devices_;
  CLoadedExecutable* executable_ = nullptr;
};

}  // namespace farcall::pjrt
