// Primitives that move elements: each element of the result is one of the operand's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <farcall/core/shape_dtype.h>
#include <farcall/program/params.h>

namespace farcall::native {

// The strides of a dense row-major array, counted in elements.
std::vector<int64_t> dense_strides(std::span<const int64_t> shape);

// Where a result's elements are in the operand: the stride along each dimension of the result, and
// the offset of the first element. Both count elements.
struct ElementSource {
  std::vector<int64_t> strides;
  int64_t offset = 0;
};

// For broadcast_in_dim, rev, slice and transpose; nullopt for other primitives.
std::optional<ElementSource> element_source(std::string_view primitive, ShapeDtype operand,
                                            ShapeDtype result, const Params* params);

}  // namespace farcall::native
