// Cache statistics in Python's form.
#pragma once

#include <nanobind/nanobind.h>

#include <farcall/core/lru_cache.h>

namespace farcall::python {

namespace nb = nanobind;

// (size, limit, misses, evictions)
nb::tuple to_tuple(const CacheInfo& info);

}  // namespace farcall::python
