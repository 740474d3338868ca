// shard_map: a program on every place of a grid, each on its shards of the operands.
#pragma once

#include <memory>
#include <span>

#include <farcall/primitives/shard_map.h>
#include <farcall/program/engine.h>

#include "engine/native/kernel.h"

namespace farcall::native {

// For the host, with collectives of this grid.
std::shared_ptr<const Executable> compile_body(const ShardMapParams& params);
Kernel make_shard_map(std::span<const ShapeDtype> inputs, std::span<const ShapeDtype> outputs,
                      const ShardMapParams& params, std::shared_ptr<const Executable> body);

}  // namespace farcall::native
