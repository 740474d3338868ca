// What this machine achieves at most, measured: the roofline for kernels.
#pragma once

#include <cstddef>

namespace farcall::tools {

struct Limits {
  int num_threads;          // used at once
  size_t cache_bytes;       // of the last-level cache, as the system reports it
  double bytes_per_second;  // read and written, in memory beyond the caches
  double flops_per_second;  // float32; a fused multiply-add counts as two
};

// Takes about half a second.
Limits measure_limits();

// The number of processors and the cache size, without measuring rates.
int num_processors();
size_t last_level_cache();

}  // namespace farcall::tools
