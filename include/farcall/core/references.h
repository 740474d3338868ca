// Counts of references that several threads hold.
#pragma once

#include <atomic>
#include <cstdint>

namespace farcall::detail {

// Drops a reference; true for the last one. The last one needs no atomic subtraction: nobody else
// can add to the count.
inline bool drop_reference(std::atomic<uint32_t>& count) noexcept {
  return count.load(std::memory_order_acquire) == 1 ||
         count.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

}  // namespace farcall::detail
