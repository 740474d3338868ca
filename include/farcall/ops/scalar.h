// Numbers as scalars of a dtype that was asked for.
#pragma once

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall {

// Raises OVERFLOW for an integer that the dtype does not have or an infinity that is to be one,
// INVALID_ARGUMENT for a nan that is to be an integer, TypeError for a complex number that is to be
// real. Fractions are cut off; floats are rounded.
FARCALL_API Array scalar_of(const ScalarNode::Number& number, DType dtype);

}  // namespace farcall
