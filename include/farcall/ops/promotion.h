// Promotion: the dtype in which operands of different dtypes meet. JAX's lattice with 64-bit types
// on; weakly typed operands (numbers of the host language) give way to arrays.
#pragma once

#include <span>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/trace/array.h>

namespace farcall {

struct PromotedDType {
  DType dtype;
  bool weak_type;
  friend bool operator==(const PromotedDType&, const PromotedDType&) = default;
};

// Raises INVALID_ARGUMENT where there is no common dtype (two kinds of float8, for instance).
FARCALL_API PromotedDType promote_types(std::span<const ShapeDtype> types);
// The same, but at least a float: integers and bool become float32.
FARCALL_API PromotedDType promote_to_inexact(std::span<const ShapeDtype> types);

// x in another dtype. A weak scalar that still knows its number is converted from that number, so
// nothing is lost on the way; of an integer that does not fit the low bits count.
FARCALL_API Array convert(const Array& x, PromotedDType to);

// x in the preferred dtype if that has the range of its elements, else x: what products with a
// preferred dtype are computed from.
FARCALL_API Array widened(const Array& x, DType preferred);

// The same array without weak type; copies nothing.
FARCALL_API Array strengthen(const Array& x);

}  // namespace farcall
