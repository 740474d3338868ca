// Whether the native engine runs loops of a few numbers as machine code, for the whole process.
#pragma once

#include <atomic>

#include <farcall/core/export.h>

namespace farcall {

namespace detail {
FARCALL_API extern std::atomic<bool> jit_loops;
}

// True unless it is set, or the environment has FARCALL_JIT=0. Programs that are compiled already
// heed it too, from the next loop on: results are the same either way, up to the bits of NaNs.
inline bool jit_loops() { return detail::jit_loops.load(std::memory_order_relaxed); }
FARCALL_API void set_jit_loops(bool is_on);

}  // namespace farcall
