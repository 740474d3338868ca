// The primitives as functions (namespace farcall::lax). They are strict, as in JAX's lax: all
// operands have the same dtype, and the same shape unless they are scalars. farcall::numpy promotes
// and broadcasts.
//
// All raise Error (INVALID_ARGUMENT) naming the operation if the operands do not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// Elementwise functions of one or two operands: neg, exp, add, lt and so on; see
// elementwise_list.h.
#define FARCALL_UNARY(name, ...) FARCALL_API Array name(const Array& x);
#define FARCALL_BINARY(name, ...) FARCALL_API Array name(const Array& x, const Array& y);
#include <farcall/ops/elementwise_list.h>

FARCALL_API Array integer_pow(const Array& x, int64_t y);
FARCALL_API Array round(const Array& x, int64_t rounding_method = 0);
// Returns x itself if nothing changes.
FARCALL_API Array convert_element_type(const Array& x, DType dtype, bool weak_type = false);
FARCALL_API Array bitcast_convert_type(const Array& x, DType dtype);
// Rounds to the precision of a float with this many bits; the dtype of x is kept.
FARCALL_API Array reduce_precision(const Array& x, int64_t exponent_bits, int64_t mantissa_bits);

FARCALL_API Array copy(const Array& x);
// Returns x with a zero derivative.
FARCALL_API Array stop_gradient(const Array& x);

// cases[which], elementwise. `which` is bool (two cases) or int32; it is a scalar or has the cases'
// shape.
FARCALL_API Array select_n(const Array& which, ListOf<Array> cases);
// The regularised incomplete beta function; differentiable with respect to x only.
FARCALL_API Array betainc(const Array& a, const Array& b, const Array& x);
FARCALL_API Array clamp(const Array& low, const Array& x, const Array& high);

FARCALL_API Array broadcast_in_dim(const Array& x, ListOf<int64_t> shape,
                                   ListOf<int64_t> broadcast_dimensions);
// reshape and transpose return x itself if nothing changes.
FARCALL_API Array reshape(const Array& x, ListOf<int64_t> new_sizes);
FARCALL_API Array transpose(const Array& x, ListOf<int64_t> permutation);
// Inserts dimensions of size 1 at these positions of the result; removes these dimensions, which
// must have size 1.
FARCALL_API Array expand_dims(const Array& x, ListOf<int64_t> dimensions);
FARCALL_API Array squeeze(const Array& x, ListOf<int64_t> dimensions);
// Strides default to 1.
FARCALL_API Array slice(const Array& x, ListOf<int64_t> start_indices,
                        ListOf<int64_t> limit_indices, ListOf<int64_t> strides = {});
FARCALL_API Array concatenate(ListOf<Array> operands, int64_t dimension);
FARCALL_API Array rev(const Array& x, ListOf<int64_t> dimensions);
FARCALL_API Array iota(DType dtype, ListOf<int64_t> shape, int64_t dimension);

FARCALL_API Array reduce_sum(const Array& x, ListOf<int64_t> axes);
FARCALL_API Array reduce_prod(const Array& x, ListOf<int64_t> axes);
FARCALL_API Array reduce_max(const Array& x, ListOf<int64_t> axes);
FARCALL_API Array reduce_min(const Array& x, ListOf<int64_t> axes);
FARCALL_API Array reduce_and(const Array& x, ListOf<int64_t> axes);
FARCALL_API Array reduce_or(const Array& x, ListOf<int64_t> axes);
FARCALL_API Array argmax(const Array& x, int64_t axis, DType index_dtype = DType::kInt32);
FARCALL_API Array argmin(const Array& x, int64_t axis, DType index_dtype = DType::kInt32);

// The result has the preferred dtype. If that is wider than the operands', the sums are computed in
// it.
FARCALL_API Array dot_general(const Array& lhs, const Array& rhs, ListOf<int64_t> lhs_contracting,
                              ListOf<int64_t> rhs_contracting, ListOf<int64_t> lhs_batch = {},
                              ListOf<int64_t> rhs_batch = {},
                              std::optional<DType> preferred_element_type = {});

// A new token.
FARCALL_API Array create_token();

}  // namespace farcall::lax
