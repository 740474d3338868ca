#include "engine/native/kernels/movement/slice_start.h"

#include <algorithm>
#include <utility>

#include "engine/native/kernels/movement/moves.h"

namespace farcall::native {

SliceStart::SliceStart(ShapeDtype operand, ShapeDtype result, DType index_dtype,
                       std::vector<Index> indices)
    : load_(index_load(index_dtype)) {
  // An empty slice has no address, which may be outside of the operand.
  if (result.size() == 0) return;
  const auto strides = dense_strides(operand.shape());
  const auto width = static_cast<int64_t>(byte_width(operand.dtype()));
  for (size_t i = 0; i < operand.rank(); ++i) {
    dimensions_.push_back({operand.shape()[i] - result.shape()[i], strides[i] * width, indices[i]});
  }
}

bool SliceStart::reads(uint32_t operand) const {
  return std::ranges::any_of(
      dimensions_, [&](const Dimension& dimension) { return dimension.index.operand == operand; });
}

int64_t SliceStart::offset(void* const* operands) const {
  int64_t offset = 0;
  for (const Dimension& dimension : dimensions_) {
    const Index& index = dimension.index;
    const int64_t first = index.operand ? load_(operands[*index.operand], 0) : index.value;
    offset += std::clamp<int64_t>(first, 0, dimension.limit) * dimension.stride;
  }
  return offset;
}

}  // namespace farcall::native
