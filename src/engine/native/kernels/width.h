// Elements that are moved without computation: only their width matters.
#pragma once

#include <array>
#include <cstdint>

namespace farcall::native {

using Wide = std::array<uint64_t, 2>;  // sixteen bytes

// Calls visit with a value of a type of this width: 1, 2, 4, 8 or 16 bytes.
template <class Visit>
auto visit_width(int64_t width, Visit visit) {
  switch (width) {
    case 1:
      return visit(uint8_t());
    case 2:
      return visit(uint16_t());
    case 4:
      return visit(uint32_t());
    case 8:
      return visit(uint64_t());
    default:
      return visit(Wide());
  }
}

}  // namespace farcall::native
