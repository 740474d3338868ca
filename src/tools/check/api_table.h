// The runtime's function table as a handler under test sees it: scratch comes from guarded memory,
// and the use of the thread pool is noted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <farcall/abi.h>

#include "tools/check/data.h"

namespace farcall::tools {

// What a handler wrote beside a block of scratch; the offset counts from the block's beginning.
struct ScratchDamage {
  int64_t offset;
  size_t nbytes;
};

// The table of this version with our functions in it.
const FARCALL_FFI_Api* checking_api(const FARCALL_FFI_Api* original);

// What new blocks hold from now on, for all threads.
void set_scratch_pattern(const Pattern& pattern);
// Takes back the blocks of a call that has ended.
std::optional<ScratchDamage> release_scratch(const FARCALL_FFI_ExecutionContext* context);
uint64_t num_tasks_scheduled();

}  // namespace farcall::tools
