// Shardings between the languages (bind_sharding.cpp).
#pragma once

#include <nanobind/nanobind.h>

#include <farcall/program/sharding.h>

namespace farcall::python {

// From ((name, size, type), …) of the axes, the devices, and the axes that split each dimension.
NamedSharding to_sharding(const nanobind::tuple& given);

}  // namespace farcall::python
