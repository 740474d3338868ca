// Layout: the order of an array's dimensions in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>

namespace farcall {

// Dimensions from the slowest to the fastest: {0, 1} is row-major, {1, 0} column-major. XLA's own
// layouts list them minor to major.
struct Layout {
  std::vector<int64_t> major_to_minor;

  friend bool operator==(const Layout&, const Layout&) = default;
};

FARCALL_API Layout row_major(size_t rank);
FARCALL_API bool is_row_major(const Layout& layout);
// True for a permutation of 0..size-1.
FARCALL_API bool is_permutation(std::span<const int64_t> values);
// permutation[result[i]] == i
FARCALL_API std::vector<int64_t> inverse_permutation(std::span<const int64_t> permutation);
// Strides, in elements, of a dense array of this shape and layout.
FARCALL_API std::vector<int64_t> strides_of(std::span<const int64_t> shape, const Layout& layout);
// "(1, 0)"
FARCALL_API std::string layout_to_string(const Layout& layout);

}  // namespace farcall
