// The primitives that other layers than their own add to programs or look for. Passes, engines and
// the trace layer refer to these objects, not to names; the layers trace and ops define them.
#pragma once

#include <farcall/core/export.h>
#include <farcall/program/primitive.h>

namespace farcall {

FARCALL_API extern const Primitive kBarrier;         // optimization_barrier
FARCALL_API extern const Primitive kBufferCallback;  // its function gets the memory of the device
FARCALL_API extern const Primitive kCluster;
FARCALL_API extern const Primitive kFfiCall;
FARCALL_API extern const Primitive kReshape;
FARCALL_API extern const Primitive kScan;
FARCALL_API extern const Primitive kShardingConstraint;
FARCALL_API extern const Primitive kTranspose;

}  // namespace farcall
