// Work on lanes, one at a time in scratch memory, shared among threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include <farcall/core/storage.h>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/parallel.h"

namespace farcall::native {

// Calls work(lane, memory, tiles) for each of num_lanes > 0 lanes of size > 0 elements; a thread
// stops if it returns false. The first thread uses `scratch`, each other one allocates
// scratch_bytes.
template <class Work>
void for_lanes(int64_t num_lanes, int64_t size, size_t scratch_bytes, std::byte* scratch,
               const Work& work) {
  std::atomic<bool> is_taken{false};
  const int64_t per_tile = std::max<int64_t>(1, kBlock / size);
  run_tiles((num_lanes - 1) / per_tile + 1, num_threads_for_elements(num_lanes * size),
            [&](Tiles& tiles) {
              int64_t tile;
              if (!tiles.next(tile)) return;
              const bool is_first = !is_taken.exchange(true, std::memory_order_relaxed);
              const Storage own = is_first ? Storage() : Storage::allocate(scratch_bytes);
              auto* const memory = is_first ? scratch : static_cast<std::byte*>(own.data());
              do {
                const int64_t end = std::min(num_lanes, (tile + 1) * per_tile);
                for (int64_t lane = tile * per_tile; lane < end; ++lane) {
                  if (!work(lane, memory, tiles)) return;
                }
              } while (tiles.next(tile));
            });
}

}  // namespace farcall::native
