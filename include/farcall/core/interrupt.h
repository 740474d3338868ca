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

}  // namespace farcall
