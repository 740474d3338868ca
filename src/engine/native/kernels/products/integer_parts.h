// How products of small integers are divided among threads. The sums are exact, so any parts give
// the same bits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/native/kernels/products/matrix_product.h"
#include "engine/native/parallel.h"

namespace farcall::native {

struct PartLimits {
  PartSizes step, least, most;
  int64_t num_of_thread;  // parts are made smaller until there are as many for each thread
};

// Calls multiply(part, memory, tiles) for parts of the result until it returns false. A part has no
// batches. The elements of the operands are of type T, those of the result int32. Each thread has a
// memory, which make_memory(sizes of the largest part) returns.
template <class T, class MakeMemory, class MultiplyPart>
void multiply_in_parts(const Product& p, const PartLimits& limits, int64_t num_threads,
                       const MakeMemory& make_memory, const MultiplyPart& multiply) {
  const PartSizes step = limits.step, least = limits.least, most = limits.most;
  PartSizes sizes = {std::min(pieces(p.m, step.rows) * step.rows, most.rows),
                     std::min(pieces(p.n, step.columns) * step.columns, most.columns)};
  const auto is_few = [&] {
    return pieces(p.m, sizes.rows) * pieces(p.n, sizes.columns) * p.batches.count <
           limits.num_of_thread * num_threads;
  };
  // The columns first: B is packed again for each part of the rows.
  while (num_threads > 1 && is_few() && sizes.columns > least.columns)
    sizes.columns -= step.columns;
  while (num_threads > 1 && is_few() && sizes.rows > least.rows) sizes.rows -= step.rows;
  const int64_t down = pieces(p.m, sizes.rows), across = pieces(p.n, sizes.columns);
  run_tiles(down * across * p.batches.count, num_threads, [&](Tiles& tiles) {
    auto memory = make_memory(sizes);
    for (int64_t i; tiles.next(i);) {
      const Product part = part_of<T, int32_t>(
          p, sizes, i / across / down, i / across % down * sizes.rows, i % across * sizes.columns);
      if (!multiply(part, memory, tiles)) return;
    }
  });
}

}  // namespace farcall::native
