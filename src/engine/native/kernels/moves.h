// Primitives that move elements: each of the result is one of the operand.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <farcall/core/shape_dtype.h>
#include <farcall/program/params.h>

namespace farcall::native {

// Where the elements of a result lie in the operand: how far apart along each dimension of the
// result, and the first one, in elements.
struct ElementSource {
  std::vector<int64_t> strides;
  int64_t offset = 0;
};

// Of broadcast_in_dim, rev, slice and transpose; nothing of other primitives.
std::optional<ElementSource> element_source(std::string_view primitive, ShapeDtype operand,
                                            ShapeDtype result, const Params* params);

}  // namespace farcall::native
