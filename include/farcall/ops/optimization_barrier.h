// optimization_barrier (namespace farcall::lax).
#pragma once

#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// Returns the operands, tied together: an engine moves no operation across the barrier, and
// computes all operands if it needs one.
FARCALL_API std::vector<Array> optimization_barrier(ListOf<Array> operands);

}  // namespace farcall::lax
