// Reductions by a user-defined function of two values (namespace farcall::lax).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// Combines two tuples of scalars, with one value for each operand, into one tuple.
using Combine = std::function<std::vector<Array>(std::span<const Array>, std::span<const Array>)>;
// Combines the elements of the operands, arrays of one shape, along the dimensions. The init values
// are scalars, the identity of `computation`. It must be associative: the order is unspecified.
// Raises INVALID_ARGUMENT for shapes and dimensions that do not fit, TypeError if the computation
// returns other types than the operands'.
FARCALL_API std::vector<Array> reduce(ListOf<Array> operands, ListOf<Array> init_values,
                                      const Combine& computation, ListOf<int64_t> dimensions);

// The bitwise XOR of integers or bools along the dimensions.
FARCALL_API Array reduce_xor(const Array& x, ListOf<int64_t> dimensions);

}  // namespace farcall::lax
