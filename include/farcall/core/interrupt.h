// Interrupting long-running programs. A front end installs a function that checks whether the user
// wants to stop.
#pragma once

#include <cstddef>

#include <farcall/core/export.h>

namespace farcall {

// Called at least every tenth of a second, unless a single operation takes longer, on each thread
// that runs a loop or a long program. An exception that it throws ends the program and reaches the
// program's caller.
using InterruptCheck = void (*)();
// Null, the default: programs cannot be interrupted.
FARCALL_API void set_interrupt_check(InterruptCheck check);
FARCALL_API void check_interrupt();

// Calls check_interrupt() only if some time has passed since the last call on this thread. Cheap
// enough for every equation, or for every few thousand elements. Must not be called under a lock,
// because the check may take one.
FARCALL_API void poll_interrupt();
// The same in a loop of short steps: checks the time in one of 64 steps.
inline void poll_interrupt(size_t step) {
  if (step % 64 == 0) poll_interrupt();
}

// The same for code that must not throw: returns true if it should stop, and keeps the exception
// until rethrow_kept_interrupt() on this thread, which does nothing if none is kept.
FARCALL_API bool poll_interrupt_and_keep() noexcept;
FARCALL_API void rethrow_kept_interrupt();
// Keeps the current exception of a catch block.
FARCALL_API void keep_interrupt() noexcept;

}  // namespace farcall
