// Values of a program that shard_map cuts over devices of several processes: where only the shards
// of this process are read or set, nothing is fetched from the others.
#pragma once

#include <optional>
#include <vector>

#include <farcall/program/program.h>
#include <farcall/program/sharding.h>

namespace farcall::native {

// By result of a shard_map over several processes: whether all that reads it is another shard_map
// that cuts it alike, or the caller of the program.
std::vector<bool> only_parts_read(const Program& program, const Equation& equation, bool is_nested);

using Shardings = std::vector<std::optional<NamedSharding>>;
// Of the program's inputs that only such equations read, all alike; empty where there is none.
Shardings input_shardings(const Program& program);
// Of the program's outputs that such equations make.
Shardings output_shardings(const Program& program);

}  // namespace farcall::native
