// One element of an array as a number, whatever its dtype.
#pragma once

#include <string>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>

namespace farcall {

// Writes the number at `element` as one of another dtype: byte_width(to) bytes. Floats and the
// parts of complex numbers are rounded to the nearest. False, with nothing written, for a number
// that `to` has not: out of range, an integer that would be rounded, a fraction for an integer, a
// part that is not real, and what would become zero, infinite or nan.
FARCALL_API bool convert_element(DType from, const void* element, DType to, void* out);

// "from -128 to 127", "from -65504.0 to 65504.0", "True or False".
FARCALL_API std::string range_text(DType dtype);

}  // namespace farcall
