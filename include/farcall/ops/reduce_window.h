// Reductions over windows (namespace farcall::lax), as pooling uses them.
//
// Strides and dilations that are left out are 1, paddings 0. All raise INVALID_ARGUMENT when the
// operands do not fit.
#pragma once

#include <farcall/core/export.h>
#include <farcall/primitives/reduce_window.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

FARCALL_API Array reduce_window_sum(const Array& x, ReduceWindowParams window);
FARCALL_API Array reduce_window_prod(const Array& x, ReduceWindowParams window);
FARCALL_API Array reduce_window_max(const Array& x, ReduceWindowParams window);
FARCALL_API Array reduce_window_min(const Array& x, ReduceWindowParams window);

}  // namespace farcall::lax
