// One element of an array as text that reads back exactly.
#pragma once

#include <string>
#include <string_view>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>

namespace farcall {

// "1.5", "-3", "True", "nan", "(1.0+2.0j)"; the shortest text from which parse_element makes the
// same value. Floats always show a point, an exponent, or are inf or nan.
FARCALL_API std::string format_element(DType dtype, const void* element);

// Writes byte_width(dtype) bytes. Raises INVALID_ARGUMENT for text that is no value of this dtype,
// out of range included.
FARCALL_API void parse_element(DType dtype, std::string_view text, void* element);

}  // namespace farcall
