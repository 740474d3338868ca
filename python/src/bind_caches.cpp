// What caches hold, and how much they may.
#include <nanobind/nanobind.h>

#include <farcall/core/lru_cache.h>
#include <farcall/ops/ffi_call.h>

#include "bind.h"
#include "caches.h"

namespace farcall::python {

nb::tuple to_tuple(const CacheInfo& info) {
  return nb::make_tuple(info.size, info.limit, info.misses, info.evictions);
}

void bind_caches(nb::module_& module) {
  module.def("cache_limit", cache_limit);
  module.def("set_cache_limit", set_cache_limit, nb::arg("limit"));
  module.def("cache_info", [] {
    const ProcessCaches caches = cache_info();
    return nb::make_tuple(to_tuple(caches.eager), to_tuple(caches.ffi_calls),
                          caches.num_array_types);
  });
}

}  // namespace farcall::python
