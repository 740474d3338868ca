// Vectors of which only the first lanes are in memory. Included after hwy/highway.h, once for each
// target.
#if defined(FARCALL_PRODUCTS_PARTIAL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FARCALL_PRODUCTS_PARTIAL_INL_H
#undef FARCALL_PRODUCTS_PARTIAL_INL_H
#else
#define FARCALL_PRODUCTS_PARTIAL_INL_H
#endif

#include <cstdint>
#include <cstring>

#undef FARCALL_HAS_MASKS
// Whether masked loads and stores do not touch the memory that the mask leaves out.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
#define FARCALL_HAS_MASKS 1
#else
#define FARCALL_HAS_MASKS 0
#endif

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Loads the first `count` elements, then zeros; does not touch memory after them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T* from, int64_t count) {
#if FARCALL_HAS_MASKS
  return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(count)), d, from);
#else
  HWY_ALIGN T padded[HWY_MAX_BYTES / sizeof(T)] = {};
  std::memcpy(padded, from, static_cast<size_t>(count) * sizeof(T));
  return hn::Load(d, padded);
#endif
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_first(hn::Vec<D> v, D d, T* to, int64_t count) {
#if FARCALL_HAS_MASKS
  hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(count)), d, to);
#else
  HWY_ALIGN T all[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(v, d, all);
  std::memcpy(to, all, static_cast<size_t>(count) * sizeof(T));
#endif
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
