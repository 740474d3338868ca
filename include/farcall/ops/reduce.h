// Reductions by any function of two values (namespace farcall::lax).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// Combines two tuples of scalars, a value for each operand, into one.
using Combine = std::function<std::vector<Array>(std::span<const Array>, std::span<const Array>)>;
// The elements of the operands, arrays of one shape, along some dimensions combined two by two;
// init values are scalars that change nothing. `computation` is associative, since the order is not
// said. Raises INVALID_ARGUMENT for shapes and dimensions that do not fit, TypeError where the
// computation gives values of other types than the operands.
FARCALL_API std::vector<Array> reduce(ListOf<Array> operands, ListOf<Array> init_values,
                                      const Combine& computation, ListOf<int64_t> dimensions);

}  // namespace farcall::lax
