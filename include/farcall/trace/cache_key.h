// The part of the keys of program caches that is the same for all functions.
#pragma once

#include <atomic>
#include <cstdint>

#include <farcall/core/config.h>
#include <farcall/core/export.h>

namespace farcall {

namespace detail {
// Counts the changes of definitions of targets that programs may have been recorded with.
FARCALL_API extern std::atomic<uint64_t> definition_changes;
}  // namespace detail

// The flags, and in the bits above them the number of changes of definitions. A program that was
// recorded or compiled under another key is recorded again.
inline uint64_t cache_key() {
  return config_key() | detail::definition_changes.load(std::memory_order_acquire)
                            << detail::kThreadsShift;
}

}  // namespace farcall
