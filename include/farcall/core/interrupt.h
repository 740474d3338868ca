// Stopping programs that run for long: a front says how it learns that the user wants that.
#pragma once

#include <farcall/core/export.h>

namespace farcall {

// Called now and then, at least every tenth of a second, on each thread that runs a loop or a long
// program, unless a single operation takes longer. What it throws ends that program and reaches its
// caller.
using InterruptCheck = void (*)();
// Null, the default: programs run to their end.
FARCALL_API void set_interrupt_check(InterruptCheck check);
FARCALL_API void check_interrupt();

// The same when the last time on this thread is a while ago: cheap enough to be called for every
// equation, or for every few thousand elements. Not under a lock, as the front may take one.
FARCALL_API void poll_interrupt();

// The same for code whose caller lets no exception through: true when it is to stop. What was
// thrown is kept until rethrow_kept_interrupt() on this thread, which does nothing otherwise.
FARCALL_API bool poll_interrupt_and_keep() noexcept;
FARCALL_API void rethrow_kept_interrupt();
// Keeps what is being handled, in a catch block.
FARCALL_API void keep_interrupt() noexcept;

}  // namespace farcall
