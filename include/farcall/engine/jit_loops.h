// Process-wide switch: whether the native engine runs loops over a few numbers, and clusters of
// elementwise operations, as machine code.
#pragma once

#include <atomic>

#include <farcall/core/export.h>

namespace farcall {

namespace detail {
FARCALL_API extern std::atomic<bool> jit_loops;
}

// True by default, false if the environment has FARCALL_JIT=0. A change also applies to programs
// that are already compiled, from their next loop or cluster on. The results are the same either
// way, up to the bits of NaNs.
inline bool jit_loops() { return detail::jit_loops.load(std::memory_order_relaxed); }
FARCALL_API void set_jit_loops(bool is_on);

}  // namespace farcall
