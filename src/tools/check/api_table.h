// The runtime's function table for a handler under test: scratch comes from guarded memory, and
// uses of the thread pool are counted.
#pragma once

#include <cstdint>
#include <optional>

#include <farcall/abi.h>

#include "tools/check/data.h"

namespace farcall::tools {

// A write outside of a scratch block; the offset counts from the block's beginning.
struct ScratchDamage {
  int64_t offset;
  size_t nbytes;
};

// A copy of the table in which farcall's checking functions replace the originals.
const FARCALL_FFI_Api* checking_api(const FARCALL_FFI_Api* original);

// Sets the contents of new blocks, for all threads.
void set_scratch_pattern(const Pattern& pattern);
// Releases the blocks of a call that has ended. Returns the first damage found, if any.
std::optional<ScratchDamage> release_scratch(const FARCALL_FFI_ExecutionContext* context);
uint64_t num_tasks_scheduled();

}  // namespace farcall::tools
