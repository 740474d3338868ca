// Conversions between 16-bit floats and float32, compiled for each instruction set, with the same
// bits as the types of handler/small_float.h.
#pragma once

#include <cstdint>

#include "engine/native/kernels/elementwise/convert.h"

namespace farcall::native {

enum class NarrowStep : uint8_t {
  kWiden,   // to float32
  kNarrow,  // from float32
  kRound,   // float32 to the nearest value of the dtype
};

// Converts float32 to a narrow float and back. The target may be the source. In narrow.cpp.
Conversion rounding_to(DType narrow);

// Null for other dtypes, and for float16 if the instruction set does not convert it.
ConvertLoop vector_narrow_loop(DType dtype, NarrowStep step);

}  // namespace farcall::native
