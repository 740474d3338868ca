// Checks of a call before anything runs.
#pragma once

#include <farcall/ffi/foreign_call.h>

namespace farcall::runtime {

// Raises INVALID_ARGUMENT for a spec that does not fit its target, FAILED_PRECONDITION for a target
// that this runtime cannot call.
void check_spec(const ForeignCallSpec& spec);

}  // namespace farcall::runtime
