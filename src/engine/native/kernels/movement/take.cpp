#include "engine/native/kernels/movement/take.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/instruction_sets.h"

namespace farcall::native {
namespace {

template <size_t kCount>
using Bytes = std::array<std::byte, kCount>;

// Two indices are loaded at a time, and elements one by one: gathers of vectors take 1.6 times as
// long on Zen 5.
template <class T, class Stride>
void take_elements(const int32_t* indices, const T* from, Stride stride, int64_t count, T* to) {
  constexpr int64_t kUnrolled = 8;
  int64_t i = 0;
  for (; i + kUnrolled <= count; i += kUnrolled) {
#pragma GCC unroll 4
    for (int64_t j = i; j < i + kUnrolled; j += 2) {
      uint64_t both;
      std::memcpy(&both, indices + j, sizeof(both));
      const auto low = static_cast<uint32_t>(both), high = static_cast<uint32_t>(both >> 32);
      constexpr bool kIsLittle = std::endian::native == std::endian::little;
      to[j] = from[int64_t{kIsLittle ? low : high} * stride];
      to[j + 1] = from[int64_t{kIsLittle ? high : low} * stride];
    }
  }
  for (; i < count; ++i) to[i] = from[int64_t{indices[i]} * stride];
}
template <class T, class Stride>
void take_elements(const int64_t* indices, const T* from, Stride stride, int64_t count, T* to) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < count; ++i) to[i] = from[indices[i] * stride];
}

// Indices are moved inside block by block, without branches: the processor would guess wrong
// wherever some are out of bounds.
template <class Index, class T>
void take_loop(const void* indices, const void* operand, void* output, int64_t count,
               Windows::Line line, bool clips, const void* fill_value) {
  constexpr int64_t kIndices = 256;
  const auto* starts = static_cast<const Index*>(indices);
  const auto* from = static_cast<const T*>(operand);
  auto* to = static_cast<T*>(output);
  T fill;
  std::memcpy(&fill, fill_value, sizeof(T));
  const auto limit =
      static_cast<Index>(std::min<int64_t>(line.limit, std::numeric_limits<Index>::max()));
  Index inside[kIndices];
  for (; count > 0; count -= kIndices, starts += kIndices, to += kIndices) {
    const int64_t size = std::min(count, kIndices);
    Index changed = 0;
    for (int64_t i = 0; i < size; ++i) {
      inside[i] = std::min(std::max(starts[i], Index(0)), limit);
      changed |= inside[i] ^ starts[i];
    }
    line.stride == 1 ? take_elements(inside, from, std::integral_constant<int64_t, 1>(), size, to)
                     : take_elements(inside, from, line.stride, size, to);
    if (clips || changed == 0) continue;
    for (int64_t i = 0; i < size; ++i) to[i] = inside[i] == starts[i] ? to[i] : fill;
  }
}

}  // namespace

Take::Loop Take::find_loop(DType indices, size_t width) {
  const auto of_index = [&]<class Index>(Index) -> Loop {
    switch (width) {
      case 4:
        return best_loop<take_loop<Index, uint32_t>>();
      case 8:
        return best_loop<take_loop<Index, uint64_t>>();
      case 16:
        return best_loop<take_loop<Index, Bytes<16>>>();
      case 32:
        return best_loop<take_loop<Index, Bytes<32>>>();
      case 64:
        return best_loop<take_loop<Index, Bytes<64>>>();
      default:
        return nullptr;
    }
  };
  if (indices == DType::kInt32) return of_index(int32_t());
  return indices == DType::kInt64 ? of_index(int64_t()) : nullptr;
}

std::optional<Take> Take::of(const Windows& windows, const GatherParams& params, DType dtype,
                             DType index) {
  const std::optional<Windows::Line> line = windows.line();
  if (!line || windows.size() == 0 || line->stride % windows.size() != 0) return std::nullopt;
  const size_t width = byte_width(dtype);
  Take take;
  take.loop_ = find_loop(index, width * static_cast<size_t>(windows.size()));
  if (!take.loop_) return std::nullopt;
  take.line_ = {line->limit, line->stride / windows.size()};
  take.clips_ = windows.clips();
  const FillValue fill = fill_value_of(dtype, params);
  fill_elements(take.fill_.data(), fill.data(), width, windows.size());
  return take;
}

Windows windows_of_gather(const GatherParams& params, ShapeDtype operand, ShapeDtype indices,
                          ShapeDtype result) {
  const auto mode =
      params.mode == GatherScatterMode::kFillOrDrop ? params.mode : GatherScatterMode::kClip;
  return Windows(params, operand, indices, result, params.slice_sizes, mode);
}

}  // namespace farcall::native
