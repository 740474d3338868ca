// Red zones behind the heap blocks of a running handler. Thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ffi/internal/foreign_stack.h"

namespace farcall::tools::heap {

// The bytes that a block needs in addition to those that are asked for.
inline constexpr size_t kZoneBytes = 16;

// `usable` is the size of the whole block, at least nbytes + kZoneBytes. The zone is filled with
// `byte`: with another one in each call, reads of it change results like reads of what was not
// written.
void set_zone(void* block, size_t nbytes, size_t usable, int byte);
// Looks for writes to the zone, if the block has one, and removes the zone.
void check_zone(void* block, size_t usable);

struct Overflow {
  size_t offset, nbytes;                   // of the write, and of the block
  std::vector<runtime::StackFrame> stack;  // where the block is freed
};
// The first write that check_zone() found since the last call of this function.
std::optional<Overflow> take_overflow();

}  // namespace farcall::tools::heap
