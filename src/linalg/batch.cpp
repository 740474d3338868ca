#include "linalg/batch.h"

#include <algorithm>
#include <vector>

#include <farcall/ops/lax.h>
#include <farcall/trace/batch.h>

namespace farcall::linalg {

BatchResults batch_system(std::span<const Array> operands, std::span<const int64_t> axes,
                          const BatchAxis& axis, Sides sides,
                          const std::function<Array(std::span<const Array>)>& solve) {
  std::vector<Array> all(operands.begin(), operands.end());
  const bool same_matrices =
      std::all_of(axes.begin(), axes.end() - 1, [](int64_t a) { return a == kNotBatched; });
  if (!same_matrices) {
    for (size_t i = 0; i < all.size(); ++i) all[i] = move_axis(all[i], axes[i], 0, axis.size);
    return {{solve(all)}, {0}};
  }
  // Merges [..., n, k, batch] to [..., n, k * batch], or [..., batch, k, n] to [..., batch * k, n].
  const int64_t last = static_cast<int64_t>(all.back().rank()) - 1;
  const int64_t at = sides == Sides::kColumns ? last : last - 2;
  const Array apart = move_axis(all.back(), axes.back(), at, axis.size);
  const std::vector<int64_t> shape(apart.shape().begin(), apart.shape().end());
  std::vector<int64_t> merged = shape;
  const int64_t first = sides == Sides::kColumns ? last - 1 : last - 2;
  merged[static_cast<size_t>(first)] *= merged[static_cast<size_t>(first) + 1];
  merged.erase(merged.begin() + first + 1);
  all.back() = lax::reshape(apart, merged);
  return {{lax::reshape(solve(all), shape)}, {at}};
}

}  // namespace farcall::linalg
