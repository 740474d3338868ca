// Adapters that give callables and untyped functions the signature of a handler.
#pragma once

#include <farcall/abi.h>

namespace farcall::runtime {

// Calls the callable of the call's target.
FARCALL_FFI_Error* call_callable(FARCALL_FFI_CallFrame* frame);

// Calls the untyped function of the call's target in the convention of its call site.
FARCALL_FFI_Error* call_untyped(FARCALL_FFI_CallFrame* frame);

}  // namespace farcall::runtime
