// Stops a thread at an instruction of the handler's library, by breakpoints that this process sets
// in its own code. Only on x86-64, and where a process may change its code; elsewhere nothing is
// found, and nothing stops.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace farcall::tools {

// While it lives, notes the places at which another thread's work could change what this process
// does: instructions that access memory other than the thread's stack, and ends of calls. Each is
// noted once, when it is first reached. `places` are offsets in the library of `function`, in this
// order; `count` says how many there are, also after a crash. One at a time.
class PlaceFinder {
 public:
  PlaceFinder(const void* function, std::span<uint32_t> places, std::atomic<size_t>& count);
  ~PlaceFinder();
  PlaceFinder(const PlaceFinder&) = delete;
  PlaceFinder& operator=(const PlaceFinder&) = delete;
};

// Calls `work` on the first thread that reaches the place, in a signal handler. Set it once in a
// process.
void stop_at(const void* function, uint32_t place, void (*work)());

}  // namespace farcall::tools
