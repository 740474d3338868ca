// Which stage offers what.
#pragma once

#include <farcall/ffi/call_context.h>

namespace farcall::runtime {

// One row for everything that a handler can ask its context for.
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

// Raises INVALID_ARGUMENT for no context and FAILED_PRECONDITION when its stage does not offer
// this, with the stages that do.
void check_offer(const FARCALL_FFI_ExecutionContext* ctx, Offer offer);

}  // namespace farcall::runtime
