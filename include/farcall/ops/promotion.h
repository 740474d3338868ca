// Promotion: the common dtype of operands of different dtypes. It follows JAX's lattice; weakly
// typed operands (numbers of the host language) take the dtype of arrays. With the flag enable_x64
// off, the result has 64-bit integers only if an operand has: uint32 and int32 give int32.
#pragma once

#include <span>

#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/trace/array.h>

namespace farcall {

struct PromotedDType {
  DType dtype;
  bool weak_type;
  friend bool operator==(const PromotedDType&, const PromotedDType&) = default;
};

// Raises INVALID_ARGUMENT if there is no common dtype (for instance for two kinds of float8).
FARCALL_API PromotedDType promote_types(std::span<const ShapeDtype> types);
// The same, but integers and bool become float32.
FARCALL_API PromotedDType promote_to_inexact(std::span<const ShapeDtype> types);

// Converts x to another dtype. A weak scalar with a known number is converted from that number, so
// that no precision is lost. An integer out of range keeps its low bits.
FARCALL_API Array convert(const Array& x, PromotedDType to);

// Converts x to the preferred dtype if that covers the range of x's dtype, else returns x. Products
// with a preferred dtype are computed from this.
FARCALL_API Array widened(const Array& x, DType preferred);

// The same array without weak type; nothing is copied.
FARCALL_API Array strengthen(const Array& x);

}  // namespace farcall
