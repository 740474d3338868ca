// Shared by the kernels that order elements: integers that order like the values, and the elements
// of a lane in blocks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "engine/native/kernels/elementwise/convert.h"
#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/width.h"

namespace farcall::native {

template <class T>
inline constexpr auto kSignBit = static_cast<std::make_unsigned_t<T>>(std::make_unsigned_t<T>(1)
                                                                      << (8 * sizeof(T) - 1));
template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

// An unsigned integer of the same width that orders like the value. Floating-point numbers order by
// sign and magnitude: -0.0 comes before 0.0, and NaNs come at either end.
template <class T>
auto ordered_bits(T value) {
  if constexpr (Float<T>) {
    using Bits = BitsOf<T>;
    const auto bits = std::bit_cast<Bits>(value);
    // Flips all bits of negative numbers, and only the sign bit of others.
    const Bits flipped =
        static_cast<Bits>(bits >> (8 * sizeof(T) - 1)) | std::bit_cast<Bits>(kSignBit<Bits>);
    return static_cast<std::make_unsigned_t<Bits>>(bits ^ flipped);
  } else if constexpr (Signed<T>) {
    return static_cast<std::make_unsigned_t<T>>(static_cast<std::make_unsigned_t<T>>(value) ^
                                                kSignBit<T>);
  } else {
    return value;
  }
}

// The value with these ordered bits.
template <class T, class Bits>
T value_of_ordered_bits(Bits ordered) {
  if constexpr (Float<T>) {
    return std::bit_cast<T>(ordered & kSignBit<Bits> ? ordered ^ kSignBit<Bits> : ~ordered);
  } else {
    return static_cast<T>(Signed<T> ? ordered ^ kSignBit<Bits> : ordered);
  }
}

// Visits `count` elements of a lane from index `from` on, in blocks: visit(elements, first, size),
// where `elements` are dense and in the type computed in.
template <class Visit>
void visit_elements(const Conversion& load, const std::byte* lane, int64_t stride, int64_t from,
                    int64_t count, Visit visit) {
  const auto width = static_cast<int64_t>(load.source_width);
  if (stride == 1 && load.is_copy()) return visit(lane + from * width, from, count);
  alignas(16) std::byte packed[kBlock * kMaxComputeWidth], converted[kBlock * kMaxComputeWidth];
  for (int64_t start = from; start < from + count; start += kBlock) {
    const int64_t size = std::min(from + count - start, kBlock);
    const std::byte* elements = lane + start * stride * width;
    if (stride != 1) {
      visit_width(width, [&]<class T>(T) {
        const auto* x = reinterpret_cast<const T*>(elements);
        for (int64_t i = 0; i < size; ++i) reinterpret_cast<T*>(packed)[i] = x[i * stride];
      });
      elements = packed;
    }
    if (!load.is_copy()) load.run(elements, converted, size);
    visit(load.is_copy() ? elements : converted, start, size);
  }
}

}  // namespace farcall::native
