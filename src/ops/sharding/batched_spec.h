// The specs of arrays that vmap has given a batch dimension.
#pragma once

#include <cstdint>
#include <span>

#include <farcall/program/sharding.h>
#include <farcall/trace/rules.h>

namespace farcall {

// The spec of an array with a batch dimension at `where`, which the axes `batch.spmd_names` split;
// the same spec if `where` is kNotBatched. Raises INVALID_ARGUMENT if these are not all axes of the
// mesh, or if the spec names one of them.
PartitionSpec batched_spec(PartitionSpec spec, int64_t where, const BatchAxis& batch,
                           std::span<const MeshAxis> axes);

// The batch axis of one shard. Raises INVALID_ARGUMENT if these axes do not divide its size, or are
// not all axes of the mesh.
BatchAxis batch_axis_of_shard(const BatchAxis& batch, std::span<const MeshAxis> axes);

}  // namespace farcall
