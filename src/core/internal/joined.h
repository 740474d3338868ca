// Sequences end to end.
#pragma once

#include <span>

namespace farcall {

// The elements of `first`, then those of `second`, in a new container.
template <class Container>
Container joined(std::span<const typename Container::value_type> first,
                 std::span<const typename Container::value_type> second) {
  Container all(first.begin(), first.end());
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

}  // namespace farcall
