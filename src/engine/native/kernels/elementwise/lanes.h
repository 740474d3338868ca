// The elements along one dimension of a dense array: `outer` times `inner` lanes of `size`
// elements, which are `inner` elements apart.
#pragma once

#include <cstdint>
#include <span>

namespace farcall::native {

struct Lanes {
  int64_t outer = 1, size = 1, inner = 1;
};

inline Lanes lanes_of(std::span<const int64_t> shape, int64_t axis) {
  Lanes lanes;
  for (size_t i = 0; i < shape.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    (at < axis ? lanes.outer : (at == axis ? lanes.size : lanes.inner)) *= shape[i];
  }
  return lanes;
}

}  // namespace farcall::native
