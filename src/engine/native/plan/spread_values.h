// Values that shard_map spreads over devices of several processes: if only this process's shards
// are read or written, nothing is fetched from other processes.
#pragma once

#include <optional>
#include <vector>

#include <farcall/program/program.h>
#include <farcall/program/sharding.h>

namespace farcall::native {

// For each result of a shard_map over several processes: whether its only readers are other such
// shard_maps that spread it in the same way, or the caller of the program.
std::vector<bool> only_parts_read(const Program& program, const Equation& equation, bool is_nested);

using Shardings = std::vector<std::optional<NamedSharding>>;
// The shardings of inputs that only such shard_maps read, all in the same way; nullopt for other
// inputs, empty if the program has no such shard_map.
Shardings input_shardings(const Program& program);
// The same for outputs that such shard_maps make.
Shardings output_shardings(const Program& program);

}  // namespace farcall::native
