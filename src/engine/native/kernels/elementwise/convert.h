// Conversion between dtypes in steps over dense elements, and the types that kernels compute in.
#pragma once

#include <array>
#include <cstdint>

#include <farcall/core/dtype.h>

namespace farcall::native {

// The dtype of the C++ type in which elements of `dtype` are computed: float32 for narrow floats,
// uint8 for bools, int8 or uint8 for integers below eight bits, uint64 for keys, else `dtype`
// itself.
DType compute_dtype(DType dtype);
// The signed, or unsigned, integer dtype of the same number of bits.
DType signed_dtype(DType integer);
DType unsigned_dtype(DType integer);
// True for floats of at most 16 bits.
bool is_narrow_float(DType dtype);

struct ConvertStep {
  void (*run)(const void* source, void* target, int64_t size, const ConvertStep& step) = nullptr;
  size_t target_width = 0;
  // Floats to integers: values from `upper` on become `max`, values up to `lower` become `min`.
  double lower = 0, upper = 0;
  int64_t min = 0;
  uint64_t max = 0;
  int bits = 0;  // width of the integers that wrap
};

// Converts elements of one dtype to another. There are no steps if both are stored alike.
struct Conversion {
  std::array<ConvertStep, 4> steps;
  int num_steps = 0;
  size_t source_width = 0, target_width = 0;

  bool is_copy() const { return num_steps == 0; }
  // `target` may be `source` if the widths are equal.
  void run(const void* source, void* target, int64_t size) const;
};

// Floats convert to integers by truncation; they saturate, and NaN becomes 0. Integers wrap.
// Complex numbers lose their imaginary part. Bool is "not zero". Narrow floats convert by way of
// float32.
Conversion make_conversion(DType from, DType to);

// The step between a narrow float and float32; null for other dtypes.
using ConvertLoop = void (*)(const void* source, void* target, int64_t size, const ConvertStep&);
ConvertLoop narrow_to_float(DType dtype);
ConvertLoop float_to_narrow(DType dtype);

}  // namespace farcall::native
