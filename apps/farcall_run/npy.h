// numpy's files of one array.
#pragma once

#include <string>

#include <farcall/trace/array.h>

namespace farcall::runner {

// Versions 1 to 3, little-endian, in C's or Fortran's order. Raises INVALID_ARGUMENT for a file
// that is none, or of a dtype that farcall has not.
Array read_npy(const std::string& path);
// bfloat16 and narrower floats are written as the bytes that they are ("V2", "V1"), as ml_dtypes
// does. Raises UNAVAILABLE.
void write_npy(const std::string& path, const Array& array);

}  // namespace farcall::runner
