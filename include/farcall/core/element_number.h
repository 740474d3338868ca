// Conversion of one element between dtypes.
#pragma once

#include <string>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>

namespace farcall {

// Converts the number at `element` to dtype `to` and writes byte_width(to) bytes. Floats and the
// parts of complex numbers are rounded to nearest. Returns false and writes nothing if `to` cannot
// represent the number: out of range, an inexact integer, a fraction or an imaginary part that
// would be dropped, or a value that would become zero, infinite or nan.
FARCALL_API bool convert_element(DType from, const void* element, DType to, void* out);

// "from -128 to 127", "from -65504.0 to 65504.0", "True or False".
FARCALL_API std::string range_text(DType dtype);

}  // namespace farcall
