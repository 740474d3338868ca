// Conversion between dtypes in steps over dense elements, and the types that kernels compute in.
#pragma once

#include <array>
#include <cstdint>

#include <farcall/core/dtype.h>

namespace farcall::native {

// The dtype that stands for the C++ type in which elements of `dtype` are computed: float32 for
// narrow floats, uint8 for bools, int8 or uint8 for integers below eight bits, else itself.
DType compute_dtype(DType dtype);
// The integer dtype of the same number of bits with, or without, a sign.
DType signed_dtype(DType integer);
DType unsigned_dtype(DType integer);
// True for floats of 16 bits and fewer.
bool is_narrow_float(DType dtype);

struct ConvertStep {
  void (*run)(const void* source, void* target, int64_t size, const ConvertStep& step) = nullptr;
  size_t target_width = 0;
  // What floats become integers with: everything from `upper` on is `max`, up to `lower` is `min`.
  double lower = 0, upper = 0;
  int64_t min = 0;
  uint64_t max = 0;
  int bits = 0;  // of the integers that wrapping makes
};

// How elements of one dtype become those of another. No steps when both are stored alike.
struct Conversion {
  std::array<ConvertStep, 4> steps;
  int num_steps = 0;
  size_t source_width = 0, target_width = 0;

  bool is_copy() const { return num_steps == 0; }
  // `target` may be `source` when the widths are equal.
  void run(const void* source, void* target, int64_t size) const;
};

// Floats become integers by truncation, saturating, NaN becomes 0; integers wrap; complex numbers
// lose their imaginary part; bool means "is not zero". Floats of 16 bits and fewer come by way of
// float32.
Conversion make_conversion(DType from, DType to);

// The steps between a narrow float and float32; null for other dtypes.
using ConvertLoop = void (*)(const void* source, void* target, int64_t size, const ConvertStep&);
ConvertLoop narrow_to_float(DType dtype);
ConvertLoop float_to_narrow(DType dtype);

}  // namespace farcall::native
