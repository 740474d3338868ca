// Names of dimensions from sharding rules, and specs in messages.
#pragma once

#include <span>
#include <string>

#include <farcall/core/shape_dtype.h>
#include <farcall/ops/sharding_rule.h>

#include "trace/internal/division.h"

namespace farcall {

// Gives the unnamed (trailing) dimensions the names of the rule, which must fit. Factors that need
// replication get no name.
void add_rule_names(const ShardingRule& rule, NamedDimensions& names);

// "operand 0 f32[8,2] lies as (None, x)", for split operands.
std::string describe_specs(std::span<const ShapeDtype> operands,
                           std::span<const PartitionSpec> specs);

}  // namespace farcall
