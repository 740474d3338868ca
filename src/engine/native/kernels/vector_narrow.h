// Conversions between floats of 16 bits and float32, compiled for each instruction set, with the
// bits of the types of handler/small_float.h.
#pragma once

#include <cstdint>

#include "engine/native/kernels/convert.h"

namespace farcall::native {

enum class NarrowStep : uint8_t {
  kWiden,   // to float32
  kNarrow,  // from float32
  kRound,   // of float32, to the nearest one that the dtype has
};

// From float32 to a narrow float and back. The target may be the source. In narrow.cpp.
Conversion rounding_to(DType narrow);

// Null for other dtypes, and where the instruction set has no conversions of float16.
ConvertLoop vector_narrow_loop(DType dtype, NarrowStep step);

}  // namespace farcall::native
