// Reductions over windows (namespace farcall::lax), as pooling uses them.
//
// Omitted strides and dilations are 1, omitted paddings 0. All raise INVALID_ARGUMENT if the
// operands do not fit.
#pragma once

#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/list_of.h>
#include <farcall/ops/convolution.h>
#include <farcall/ops/reduce.h>
#include <farcall/primitives/reduce_window.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

FARCALL_API Array reduce_window_sum(const Array& x, ReduceWindowParams window);
FARCALL_API Array reduce_window_prod(const Array& x, ReduceWindowParams window);
FARCALL_API Array reduce_window_max(const Array& x, ReduceWindowParams window);
FARCALL_API Array reduce_window_min(const Array& x, ReduceWindowParams window);

// The same; init_value, a scalar, is combined with each window too.
enum class WindowReduction { kSum, kProd, kMax, kMin };
FARCALL_API Array reduce_window(const Array& x, const Array& init_value, WindowReduction reduction,
                                ReduceWindowParams window);
// Reduces by a user-defined function; see reduce. Gaps and padding count as the init values,
// scalars that are the identity. Allocates memory for all elements of all windows.
FARCALL_API std::vector<Array> reduce_window(ListOf<Array> operands, ListOf<Array> init_values,
                                             const Combine& computation, ReduceWindowParams window);

// Computes the padding of this kind for windows over an array of this shape.
FARCALL_API Padding padding_for(PaddingKind kind, ListOf<int64_t> shape,
                                const ReduceWindowParams& window);
// The shape of the results.
FARCALL_API Shape reduce_window_shape(ListOf<int64_t> shape, ReduceWindowParams window);

}  // namespace farcall::lax
