#include "engine/native/kernels/movement/spaced.h"

#include <algorithm>

#include "engine/native/kernels/instruction_sets.h"
#include "engine/native/kernels/width.h"

namespace farcall::native {
namespace {

template <int64_t kStride, class T>
void take_each(const T* source, int64_t count, T* __restrict target) {
  for (int64_t i = 0; i < count; ++i) target[i] = source[i * kStride];
}

template <class T>
void take_spaced(const void* source, int64_t stride, int64_t count, void* target) {
  const auto* from = static_cast<const T*>(source);
  auto* to = static_cast<T*>(target);
  switch (stride) {
    case 2:
      return take_each<2>(from, count, to);
    case 3:
      return take_each<3>(from, count, to);
    case 4:
      return take_each<4>(from, count, to);
    default:
      for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  }
}

template <class T>
void interleave(const void* const* sources, int64_t number, int64_t first, int64_t last,
                void* target) {
  const auto source = [&](int64_t s) { return static_cast<const T*>(sources[s]); };
  T* __restrict to = static_cast<T*>(target);
  if (number == 2) {
    const T *a = source(0), *b = source(1);
    for (int64_t i = first; i < last; ++i) to[2 * i] = a[i], to[2 * i + 1] = b[i];
    return;
  }
  if (number == 3) {
    const T *a = source(0), *b = source(1), *c = source(2);
    for (int64_t i = first; i < last; ++i) {
      to[3 * i] = a[i], to[3 * i + 1] = b[i], to[3 * i + 2] = c[i];
    }
    return;
  }
  if (number == 4) {
    const T *a = source(0), *b = source(1), *c = source(2), *d = source(3);
    for (int64_t i = first; i < last; ++i) {
      to[4 * i] = a[i], to[4 * i + 1] = b[i], to[4 * i + 2] = c[i], to[4 * i + 3] = d[i];
    }
    return;
  }
  // Blocks of the target stay in the cache while each source adds its elements.
  constexpr int64_t kBlock = 256;
  for (int64_t start = first; start < last; start += kBlock) {
    const int64_t end = std::min(start + kBlock, last);
    for (int64_t s = 0; s < number; ++s) {
      const T* from = source(s);
      for (int64_t i = start; i < end; ++i) to[i * number + s] = from[i];
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
