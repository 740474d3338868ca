// with_sharding_constraint: how an array in the middle of a program lies over the devices of a
// mesh.
#pragma once

#include <farcall/core/export.h>
#include <farcall/program/sharding.h>
#include <farcall/trace/array.h>

namespace farcall {

// A concrete array is moved (device_put). Of a traced one the elements stay the same; programs on
// arrays over a mesh with these axes divide by it what is computed from the array, others ignore
// it. Raises INVALID_ARGUMENT for a sharding that does not fit (Partition).
FARCALL_API Array with_sharding_constraint(const Array& x, const NamedSharding& sharding);

}  // namespace farcall
