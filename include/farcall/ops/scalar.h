// Conversion of numbers to scalars of an explicit dtype.
#pragma once

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall {

// Raises OverflowError for an integer out of the dtype's range and for an infinity converted to an
// integer, INVALID_ARGUMENT for a NaN converted to an integer, and TypeError for a complex number
// converted to a real one. Conversion to an integer truncates; conversion to a float rounds.
FARCALL_API Array scalar_of(const ScalarNode::Number& number, DType dtype);

}  // namespace farcall
