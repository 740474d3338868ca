// Which stage offers which parts of the context.
#pragma once

#include <farcall/ffi/call_context.h>

namespace farcall::runtime {

// Everything that a handler can ask its context for.
enum class Offer {
  kStream,
  kDeviceMemory,
  kThreadPool,
  kUserData,
  kRunId,
  kDeviceOrdinal,
  kExtension,
  kCustomOptions,
  kInstantiateState,
  kPrepareState,
  kInitializeState,
};

// Raises INVALID_ARGUMENT if the context is null, and FAILED_PRECONDITION if its stage does not
// offer this; the text lists the stages that do.
void check_offer(const FARCALL_FFI_ExecutionContext* ctx, Offer offer);

}  // namespace farcall::runtime
