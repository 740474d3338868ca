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
template <class T, class Stride, class Apart>
void take_elements(const int32_t* indices, const T* from, Stride stride, Apart apart, int64_t count,
                   T* to) {
  constexpr int64_t kUnrolled = 8;
  int64_t i = 0;
  for (; i + kUnrolled <= count; i += kUnrolled) {
#pragma GCC unroll 4
    for (int64_t j = i; j < i + kUnrolled; j += 2) {
      uint64_t both;
      std::memcpy(&both, indices + j, sizeof(both));
      const auto low = static_cast<uint32_t>(both), high = static_cast<uint32_t>(both >> 32);
      constexpr bool kIsLittle = std::endian::native == std::endian::little;
      to[j] = from[int64_t{kIsLittle ? low : high} * stride + j * apart];
      to[j + 1] = from[int64_t{kIsLittle ? high : low} * stride + (j + 1) * apart];
    }
  }
  for (; i < count; ++i) to[i] = from[int64_t{indices[i]} * stride + i * apart];
}
template <class T, class Stride, class Apart>
void take_elements(const int64_t* indices, const T* from, Stride stride, Apart apart, int64_t count,
                   T* to) {
#pragma GCC unroll 4
  for (int64_t i = 0; i < count; ++i) to[i] = from[indices[i] * stride + i * apart];
}

// Indices are moved inside block by block, without branches: the processor would guess wrong
// wherever some are out of bounds.
template <class Index, class T>
void take_loop(const void* indices, const void* operand, void* output, int64_t count,
               const Windows::Lines& lines, bool clips, const void* fill_value) {
  constexpr int64_t kIndices = 256;
  constexpr std::integral_constant<int64_t, 0> kNone;
  constexpr std::integral_constant<int64_t, 1> kOne;
  const auto [limit_of_line, stride] = lines.line;
  const int64_t apart = lines.apart;
  const auto* starts = static_cast<const Index*>(indices);
  const auto* from = static_cast<const T*>(operand);
  auto* to = static_cast<T*>(output);
  T fill;
  std::memcpy(&fill, fill_value, sizeof(T));
  const auto limit =
      static_cast<Index>(std::min<int64_t>(limit_of_line, std::numeric_limits<Index>::max()));
  Index inside[kIndices];
  for (; count > 0;
       count -= kIndices, starts += kIndices, to += kIndices, from += kIndices * apart) {
    const int64_t size = std::min(count, kIndices);
    Index changed = 0;
    for (int64_t i = 0; i < size; ++i) {
      inside[i] = std::min(std::max(starts[i], Index(0)), limit);
      changed |= inside[i] ^ starts[i];
    }
    if (apart != 0) {
      take_elements(inside, from, stride, apart, size, to);
    } else if (stride != 1) {
      take_elements(inside, from, stride, kNone, size, to);
    } else {
      take_elements(inside, from, kOne, kNone, size, to);
    }
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
  const std::optional<Windows::Lines> lines = windows.lines();
  const int64_t size = windows.size();
  if (!lines || size == 0 || lines->line.stride % size != 0 || lines->apart % size != 0) {
    return std::nullopt;
  }
  const size_t width = byte_width(dtype);
  Take take;
  take.loop_ = find_loop(index, width * static_cast<size_t>(size));
  if (!take.loop_) return std::nullopt;
  take.lines_ = {{lines->line.limit, lines->line.stride / size}, lines->size, lines->apart / size};
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
