// shard_map: a program on every place of a grid, each on its shards of the operands.
#pragma once

#include <memory>
#include <span>

#include <farcall/primitives/shard_map.h>
#include <farcall/program/engine.h>

#include "engine/native/kernel.h"

namespace farcall::native {

// How a value with this spec is spread over the devices of a shard_map of several processes. Raises
// FAILED_PRECONDITION for devices that the job does not have.
NamedSharding sharding_of(const ShardMapParams& params, PartitionSpec spec);

// For the host, with collectives of this grid.
std::shared_ptr<const Executable> compile_body(const ShardMapParams& params);
// `only_parts`: the results of which nothing but the shards of this process is read, by number.
Kernel make_shard_map(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype> outputs,
                      const ShardMapParams& params, std::shared_ptr<const Executable> body,
                      const std::vector<bool>& only_parts);

}  // namespace farcall::native
