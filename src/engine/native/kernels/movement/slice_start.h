// Where a dynamic slice begins in its operand.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <farcall/core/shape_dtype.h>

#include "engine/native/kernels/reductions/windows.h"

namespace farcall::native {

// The first element of a dynamic slice.
class SliceStart {
 public:
  // `indices`: for each dimension of the operand, the number of the kernel's operand that has its
  // index, or the index.
  struct Index {
    std::optional<uint32_t> operand;
    int64_t value = 0;
  };
  SliceStart(ShapeDtype operand, ShapeDtype result, DType index_dtype, std::vector<Index> indices);

  bool reads(uint32_t operand) const;
  // In bytes from the first element of the operand; indices are clamped. 0 for an empty slice.
  int64_t offset(void* const* operands) const;

 private:
  struct Dimension {
    int64_t limit, stride;  // the stride in bytes
    Index index;
  };
  std::vector<Dimension> dimensions_;
  IndexLoad load_;
};

}  // namespace farcall::native
