// Contents and limits of caches; the switch for machine code.
#include <nanobind/nanobind.h>

#include <farcall/core/lru_cache.h>
#include <farcall/core/memory_pool.h>
#include <farcall/engine/jit_loops.h>
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
  module.def("memory_pool_limit", memory_pool_limit);
  module.def("set_memory_pool_limit", set_memory_pool_limit, nb::arg("nbytes"));
  module.def("memory_pool_info", [] {
    const MemoryPoolInfo info = memory_pool_info();
    return nb::make_tuple(info.bytes_in_use, info.peak_bytes_in_use, info.bytes_kept, info.limit,
                          info.hits, info.misses);
  });
  module.def("clear_memory_pool", clear_memory_pool);
  module.def("jit_loops", jit_loops);
  module.def("set_jit_loops", set_jit_loops, nb::arg("is_on"));
}

}  // namespace farcall::python
