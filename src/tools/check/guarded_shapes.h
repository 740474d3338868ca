// Lets the dimensions of operands lie before inaccessible pages: a handler may read more of them
// than there are.
#pragma once

#include <farcall/abi.h>

namespace farcall::tools {

// Gives all operands of the frame such dimensions, which live as long as the process. Thread-safe.
void guard_shapes(const FARCALL_FFI_CallFrame& frame);

}  // namespace farcall::tools
