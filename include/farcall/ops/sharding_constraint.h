// with_sharding_constraint: how an intermediate array of a program is distributed over the devices
// of a mesh.
#pragma once

#include <farcall/core/export.h>
#include <farcall/program/sharding.h>
#include <farcall/trace/array.h>

namespace farcall {

// Moves a concrete array (device_put). For a traced array the elements stay the same: programs that
// run over a mesh with these axes distribute what is computed from the array accordingly; others
// ignore the constraint. Raises INVALID_ARGUMENT for a sharding that does not fit (Partition).
FARCALL_API Array with_sharding_constraint(const Array& x, const NamedSharding& sharding);

}  // namespace farcall
