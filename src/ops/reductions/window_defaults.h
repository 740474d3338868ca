// The defaults of the parameters of windows.
#pragma once

#include <cstddef>

#include <farcall/primitives/reduce_window.h>

namespace farcall::lax {

// Sets strides and dilations that are left out to 1, and paddings to 0.
ReduceWindowParams with_defaults(ReduceWindowParams window, size_t rank);

}  // namespace farcall::lax
