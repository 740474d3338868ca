#include "engine/native/kernels/movement/spaced.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "engine/native/kernels/instruction_sets.h"
#include "engine/native/kernels/width.h"

namespace farcall::native {
namespace {

// Elements may stand for several narrower ones, so they need not be aligned.
template <class T>
void copy_element(const std::byte* from, int64_t i, std::byte* to, int64_t j) {
  T element;
  std::memcpy(&element, from + i * int64_t{sizeof(T)}, sizeof(T));
  std::memcpy(to + j * int64_t{sizeof(T)}, &element, sizeof(T));
}

template <class T, int64_t kStride>
void take_each(const std::byte* source, int64_t count, std::byte* __restrict target) {
  for (int64_t i = 0; i < count; ++i) copy_element<T>(source, i * kStride, target, i);
}

template <class T>
void take_spaced(const void* source, int64_t stride, int64_t count, void* target) {
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(target);
  switch (stride) {
    case 2:
      return take_each<T, 2>(from, count, to);
    case 3:
      return take_each<T, 3>(from, count, to);
    case 4:
      return take_each<T, 4>(from, count, to);
    default:
      for (int64_t i = 0; i < count; ++i) copy_element<T>(from, i * stride, to, i);
  }
}

template <class T, int64_t kNumber>
void interleave_few(const void* const* sources, int64_t first, int64_t last,
                    std::byte* __restrict target) {
  const std::byte* from[kNumber];
  for (int64_t s = 0; s < kNumber; ++s) from[s] = static_cast<const std::byte*>(sources[s]);
  for (int64_t i = first; i < last; ++i) {
    for (int64_t s = 0; s < kNumber; ++s) copy_element<T>(from[s], i, target, i * kNumber + s);
  }
}

template <class T>
void interleave(const void* const* sources, int64_t number, int64_t first, int64_t last,
                void* target) {
  auto* const to = static_cast<std::byte*>(target);
  if (number == 2) return interleave_few<T, 2>(sources, first, last, to);
  if (number == 3) return interleave_few<T, 3>(sources, first, last, to);
  if (number == 4) return interleave_few<T, 4>(sources, first, last, to);
  // Blocks of the target stay in the cache while each source adds its elements.
  constexpr int64_t kBlock = 256;
  for (int64_t start = first; start < last; start += kBlock) {
    const int64_t end = std::min(start + kBlock, last);
    for (int64_t s = 0; s < number; ++s) {
      const auto* from = static_cast<const std::byte*>(sources[s]);
      for (int64_t i = start; i < end; ++i) copy_element<T>(from, i, to, i * number + s);
    }
  }
}

}  // namespace

TakeSpaced find_take_spaced(int64_t width) {
  return visit_width(width, []<class T>(T) { return best_loop<take_spaced<T>>(); });
}

Interleave find_interleave(int64_t width) {
  return visit_width(width, []<class T>(T) { return best_loop<interleave<T>>(); });
}

}  // namespace farcall::native
