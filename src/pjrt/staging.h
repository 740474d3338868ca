// Calls of host functions from programs on devices: the operands are copied to the host, the
// results back.
#pragma once

#include <farcall/abi.h>

#include "pjrt/host_copies.h"

namespace farcall::pjrt {

// Calls `handler` with the same frame, but with host memory in place of all buffers. Copies nothing
// back if it returns an error. Returns an error if a copy fails.
FARCALL_FFI_Error* call_with_copies(const FARCALL_FFI_CallFrame& frame, const HostCopies& copies,
                                    FARCALL_FFI_Handler* handler);

}  // namespace farcall::pjrt
