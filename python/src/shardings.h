// Conversion of shardings from Python (bind_sharding.cpp).
#pragma once

#include <nanobind/nanobind.h>

#include <farcall/ops/sharding_rule.h>
#include <farcall/program/sharding.h>

namespace farcall::python {

// Converts the tuple of ((name, size, type), …) for the axes, the devices, and the axes that split
// each dimension.
NamedSharding to_sharding(const nanobind::tuple& given);

// Converts back.
nanobind::tuple from_sharding(const NamedSharding& sharding);

// Converts the tuple (text, sizes of factors, reduction factors, factors that need replication,
// permutation factors).
ShardingRule to_sharding_rule(const nanobind::tuple& given);

}  // namespace farcall::python
