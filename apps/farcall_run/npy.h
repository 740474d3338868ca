// Reads and writes .npy files.
#pragma once

#include <string>

#include <farcall/trace/array.h>

namespace farcall::runner {

// Reads format versions 1 to 3, little-endian, in C or Fortran order. Raises INVALID_ARGUMENT if
// the file is not such a file or farcall does not have its dtype.
Array read_npy(const std::string& path);
// Writes bfloat16 and narrower floats as raw bytes ("V2", "V1"), as ml_dtypes does. Raises
// UNAVAILABLE.
void write_npy(const std::string& path, const Array& array);

}  // namespace farcall::runner
