// Dot products of vectors whose elements lie beside those of other vectors.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/products/dots_beside.cpp"

#include "engine/native/kernels/products/matrix_tile.h"
#include "engine/native/kernels/vector/targets.h"

#include <algorithm>

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "engine/native/kernels/products/partial-inl.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// As many sums as multiply_dense_columns has for a vector, added in the same order.
template <class T>
inline constexpr int64_t kSums = kDotBytes / static_cast<int64_t>(sizeof(T));

// The dots of `count` vectors, of whose sums one row after the other is computed.
template <class T>
HWY_INLINE void dots_of_block(const T* a, int64_t a_stride, const T* b, int64_t b_stride,
                              int64_t depth, int64_t count, T* to) {
  const hn::ScalableTag<T> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  HWY_ALIGN T sums[kSums<T>][4 * kLanes] = {};
  const int64_t whole = count / kLanes * kLanes, left = count - whole;
  for (int64_t i = 0; i < depth; ++i, a += a_stride, b += b_stride) {
    T* const row = sums[i % kSums<T>];
    for (int64_t j = 0; j < whole; j += kLanes) {
      hn::Store(hn::MulAdd(hn::LoadU(d, a + j), hn::LoadU(d, b + j), hn::Load(d, row + j)), d,
                row + j);
    }
    if (left == 0) continue;
    const auto x = load_first(d, a + whole, left), y = load_first(d, b + whole, left);
    hn::Store(hn::MulAdd(x, y, hn::Load(d, row + whole)), d, row + whole);
  }
  for (int64_t half = kSums<T> / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) {
      for (int64_t j = 0; j < count; j += kLanes) {
        hn::Store(hn::Add(hn::Load(d, sums[i] + j), hn::Load(d, sums[i + half] + j)), d,
                  sums[i] + j);
      }
    }
  }
  std::copy_n(sums[0], count, to);
}

template <class T>
void dots(const Product& p, int64_t first, int64_t last) {
  constexpr auto kBlock = static_cast<int64_t>(4 * hn::MaxLanes(hn::ScalableTag<T>()));
  const auto *a = static_cast<const T*>(p.a.data), *b = static_cast<const T*>(p.b.data);
  for (; first < last; first += kBlock) {
    dots_of_block(a + first, p.a.column_stride, b + first, p.b.row_stride, p.k,
                  std::min(kBlock, last - first), static_cast<T*>(p.c) + first);
  }
}

void dots_float(const Product& p, int64_t first, int64_t last) { dots<float>(p, first, last); }
void dots_double(const Product& p, int64_t first, int64_t last) { dots<double>(p, first, last); }

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace farcall::native {
namespace {

HWY_EXPORT(dots_float);
HWY_EXPORT(dots_double);

}  // namespace

template <>
void multiply_vectors_beside<float>(const Product& p, int64_t first, int64_t last) {
  HWY_DYNAMIC_DISPATCH(dots_float)(p, first, last);
}
template <>
void multiply_vectors_beside<double>(const Product& p, int64_t first, int64_t last) {
  HWY_DYNAMIC_DISPATCH(dots_double)(p, first, last);
}

}  // namespace farcall::native
#endif
