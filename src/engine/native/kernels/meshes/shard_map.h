// shard_map: runs a program at every place of a grid, each place on its shards of the operands.
#pragma once

#include <memory>
#include <span>

#include <farcall/primitives/shard_map.h>
#include <farcall/program/engine.h>

#include "engine/native/kernel.h"

namespace farcall::native {

// The sharding of a value with this spec over the devices of a shard_map of several processes.
// Raises FAILED_PRECONDITION for devices that the job does not have.
NamedSharding sharding_of(const ShardMapParams& params, PartitionSpec spec);

// Compiles the body for the host, with collectives over this grid.
std::shared_ptr<const Executable> compile_body(const ShardMapParams& params);
// only_parts: by result, whether only this process's shards of it are read.
Kernel make_shard_map(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype> outputs,
                      const ShardMapParams& params, std::shared_ptr<const Executable> body,
                      const std::vector<bool>& only_parts);

}  // namespace farcall::native
