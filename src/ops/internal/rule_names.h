// Sharding rules as names of dimensions, and specs in messages.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <farcall/core/shape_dtype.h>
#include <farcall/ops/sharding_rule.h>

#include "trace/internal/division.h"

namespace farcall {

// Gives the dimensions that have no names yet, the last ones, those of the rule, which fits them.
// Factors that need replication give none.
void add_rule_names(const ShardingRule& rule, NamedDimensions& names);

// "operand 0 f32[8,2] lies as (None, x)", for those that are split.
std::string describe_specs(std::span<const ShapeDtype> operands,
                           std::span<const PartitionSpec> specs);

}  // namespace farcall
