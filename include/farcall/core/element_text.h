// One element of an array as text that reads back exactly.
#pragma once

#include <string>
#include <string_view>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>

namespace farcall {

// "1.5", "-3", "True", "nan", "(1.0+2.0j)": the shortest text that parse_element maps to the same
// value. Finite floats always have a point or an exponent.
FARCALL_API std::string format_element(DType dtype, const void* element);

// Writes byte_width(dtype) bytes. Raises INVALID_ARGUMENT for text that is not a value of this
// dtype, or is out of its range.
FARCALL_API void parse_element(DType dtype, std::string_view text, void* element);

}  // namespace farcall
