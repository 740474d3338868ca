// The pool of large blocks of host memory. Storage takes blocks of 1 MiB or more from it: arrays,
// and the native engine's memory while a program runs. Fresh memory is expensive, because the
// kernel clears each page on first touch; so freed blocks are kept for reuse.
#pragma once

#include <cstddef>

#include <farcall/core/export.h>

namespace farcall {

struct MemoryPoolInfo {
  size_t bytes_in_use = 0;       // in blocks that are in use
  size_t peak_bytes_in_use = 0;  // maximum since the start, or since clear_memory_pool()
  size_t bytes_kept = 0;         // in free blocks
  size_t limit = 0;              // upper bound of bytes_kept
  size_t hits = 0;               // requests served from a free block
  size_t misses = 0;             // requests served by the system
};
FARCALL_API MemoryPoolInfo memory_pool_info();

// The upper bound of the bytes in free blocks. Beyond it, the blocks that were freed first go back
// to the system. Default: an eighth of the machine's memory, at most 512 MiB. 0 keeps none.
FARCALL_API size_t memory_pool_limit();
FARCALL_API void set_memory_pool_limit(size_t nbytes);

// Returns the free blocks to the system.
FARCALL_API void clear_memory_pool();

namespace detail {

// Smaller sizes come from malloc.
inline constexpr size_t kPooledBytes = size_t{1} << 20;

// A block of `nbytes` >= kPooledBytes uninitialized bytes, aligned to a page, or to 2 MiB for sizes
// from 2 MiB. Null if out of memory.
void* take_block(size_t nbytes);
// `nbytes` must be the size passed to take_block().
void give_block(void* block, size_t nbytes) noexcept;

}  // namespace detail
}  // namespace farcall
