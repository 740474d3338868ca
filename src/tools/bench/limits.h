// What this machine does at most, measured: the roofline that kernels are compared with.
#pragma once

#include <cstddef>

namespace farcall::tools {

struct Limits {
  int num_threads;          // that worked at once
  size_t cache_bytes;       // of the last level, as the system says
  double bytes_per_second;  // read and written, of memory beyond the caches
  double flops_per_second;  // float32, fused multiply-adds of whole vectors counted as two
};

// Takes about half a second.
Limits measure_limits();

// What threads and caches the machine has, without the measured rates.
int num_processors();
size_t last_level_cache();

}  // namespace farcall::tools
