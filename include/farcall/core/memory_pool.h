// The pool of large blocks of the host's memory. Storage takes from it what has a megabyte or more:
// arrays, and what the native engine needs while a program runs. Fresh memory is dear, because the
// system clears each page when it is first touched, so that freed blocks are kept for the next use.
#pragma once

#include <cstddef>

#include <farcall/core/export.h>

namespace farcall {

struct MemoryPoolInfo {
  size_t bytes_in_use = 0;       // of the blocks that are in use
  size_t peak_bytes_in_use = 0;  // the most since the start, or since clear_memory_pool()
  size_t bytes_kept = 0;         // of the free blocks
  size_t limit = 0;              // the most that bytes_kept may be
  size_t hits = 0;               // blocks that were used again
  size_t misses = 0;             // blocks that came from the system
};
FARCALL_API MemoryPoolInfo memory_pool_info();

// How many bytes of free blocks are kept. Beyond it, those that were freed first go back to the
// system. An eighth of the machine's memory unless set, but at most 512 MiB; 0: none are kept.
FARCALL_API size_t memory_pool_limit();
FARCALL_API void set_memory_pool_limit(size_t nbytes);

// Gives the free blocks back to the system.
FARCALL_API void clear_memory_pool();

namespace detail {

// Smaller sizes are malloc's.
inline constexpr size_t kPooledBytes = size_t{1} << 20;

// A block of `nbytes` >= kPooledBytes uninitialised bytes, aligned to a page, and from 2 MiB on to
// 2 MiB. Null when there is no memory.
void* take_block(size_t nbytes);
// `nbytes` as it was taken.
void give_block(void* block, size_t nbytes) noexcept;

}  // namespace detail
}  // namespace farcall
