#include "engine/native/kernels/windows.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <farcall/core/layout.h>

namespace farcall::native {
namespace {

template <class T>
int64_t load(const void* indices, int64_t i) {
  const T value = static_cast<const T*>(indices)[i];
  if constexpr (sizeof(T) == 8 && std::is_unsigned_v<T>) {
    return static_cast<int64_t>(
        std::min<T>(value, static_cast<T>(std::numeric_limits<int64_t>::max())));
  }
  return static_cast<int64_t>(value);
}

bool contains(const std::vector<int64_t>& dims, size_t dim) {
  return std::ranges::find(dims, static_cast<int64_t>(dim)) != dims.end();
}

}  // namespace

IndexLoad index_load(DType dtype) {
  const size_t width = byte_width(dtype);
  if (dtype_info(dtype).kind == DTypeKind::kUnsigned) {
    return width == 1   ? load<uint8_t>
           : width == 2 ? load<uint16_t>
           : width == 4 ? load<uint32_t>
                        : load<uint64_t>;
  }
  return width == 1   ? load<int8_t>
         : width == 2 ? load<int16_t>
         : width == 4 ? load<int32_t>
                      : load<int64_t>;
}

Windows::Windows(const GatherDimensionNumbers& numbers, ShapeDtype operand, ShapeDtype indices,
                 ShapeDtype all, std::span<const int64_t> sizes, GatherScatterMode mode)
    : load_(index_load(indices.dtype())), clips_(mode == GatherScatterMode::kClip) {
  const auto operand_strides = strides_of(operand.shape(), row_major(operand.rank()));
  const auto all_strides = strides_of(all.shape(), row_major(all.rank()));
  for (const int64_t dim : numbers.start_index_map) {
    components_.push_back({operand.shape()[dim] - sizes[dim], operand_strides[dim]});
  }
  for (size_t i = 0, next = 0; i < all.rank(); ++i) {
    if (contains(numbers.offset_dims, i)) continue;
    const auto dim = static_cast<int64_t>(next++);
    int64_t stride = 0;
    for (size_t j = 0; j < numbers.operand_batching_dims.size(); ++j) {
      if (numbers.start_indices_batching_dims[j] == dim) {
        stride = operand_strides[numbers.operand_batching_dims[j]];
      }
    }
    numbers_.push_back({indices.shape()[dim], all_strides[i], stride});
    count_ *= indices.shape()[dim];
  }
  for (size_t i = 0, next = 0; i < operand.rank(); ++i) {
    if (contains(numbers.collapsed_slice_dims, i) || contains(numbers.operand_batching_dims, i)) {
      continue;
    }
    shape_.push_back(sizes[i]);
    window_operand_strides_.push_back(operand_strides[i]);
    window_all_strides_.push_back(all_strides[numbers.offset_dims[next++]]);
    size_ *= sizes[i];
  }
}

}  // namespace farcall::native
