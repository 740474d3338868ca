// Convolution (namespace farcall::lax).
#pragma once

#include <cstdint>

#include <farcall/core/export.h>
#include <farcall/primitives/convolution.h>
#include <farcall/trace/array.h>

namespace farcall::lax {

// Strides and dilations that are left out are 1, paddings 0; specs that are left out put batch (or
// output features) first, features second, then the spatial dimensions. Raises INVALID_ARGUMENT
// when the operands do not fit.
FARCALL_API Array conv_general_dilated(const Array& lhs, const Array& rhs, ConvParams params = {});

}  // namespace farcall::lax
