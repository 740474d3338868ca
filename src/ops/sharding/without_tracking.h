// The body of a shard_map without the operations that only derivatives inside need.
#pragma once

#include <span>

#include <farcall/program/program.h>
#include <farcall/program/sharding.h>

namespace farcall {

// The program that was recorded while these axes were tracked, in addition to those that are
// tracked now: without pvary, and with psum in place of psum_invariant. Derivatives of the result
// follow the convention of ops/sharding/shard_map.cpp. The axes must be bound.
ProgramPtr without_tracking(const ProgramPtr& program, std::span<const MeshAxis> axes);

}  // namespace farcall
