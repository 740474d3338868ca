// Complex numbers in vectors, for Fourier transforms. Included once for each instruction set,
// outside of Highway's namespaces.
#if defined(FARCALL_VECTOR_FOURIER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FARCALL_VECTOR_FOURIER_INL_H
#undef FARCALL_VECTOR_FOURIER_INL_H
#else
#define FARCALL_VECTOR_FOURIER_INL_H
#endif

#include <algorithm>

#include <hwy/highway.h>

#include "engine/native/kernels/vector/fourier.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// As many complex numbers as a vector of D has lanes.
template <class D>
struct Numbers {
  using T = hn::TFromD<D>;
  using Vector = hn::Vec<D>;
  Vector re, im;

  HWY_INLINE static Numbers load(FourierParts<T> from, int64_t at) {
    return {hn::LoadU(D(), from.re + at), hn::LoadU(D(), from.im + at)};
  }
  HWY_INLINE void store(FourierParts<T> to, int64_t at) const {
    hn::StoreU(re, D(), to.re + at);
    hn::StoreU(im, D(), to.im + at);
  }
  HWY_INLINE Numbers plus(Numbers b) const { return {hn::Add(re, b.re), hn::Add(im, b.im)}; }
  HWY_INLINE Numbers less(Numbers b) const { return {hn::Sub(re, b.re), hn::Sub(im, b.im)}; }
  HWY_INLINE Numbers times(T b) const {
    const Vector factor = hn::Set(D(), b);
    return {hn::Mul(re, factor), hn::Mul(im, factor)};
  }
  HWY_INLINE Numbers times_minus_i() const { return {im, hn::Neg(re)}; }
};

template <class D>
HWY_INLINE Numbers<D> product(Numbers<D> a, Numbers<D> b) {
  return {hn::Sub(hn::Mul(a.re, b.re), hn::Mul(a.im, b.im)),
          hn::Add(hn::Mul(a.re, b.im), hn::Mul(a.im, b.re))};
}

// Calls visit(tag, at) for parts of `width` numbers, at least one, that cover them all. The last
// part may cover numbers again: results are written to other memory than operands.
template <class T, class Visit>
HWY_INLINE void for_parts(int64_t width, Visit visit) {
  const hn::ScalableTag<T> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  constexpr int64_t kFew = std::max<int64_t>(1, kLanes / 2);
  const auto visit_all = [&](auto tag, int64_t lanes) HWY_ATTR {
    int64_t at = 0;
    for (; at + lanes <= width; at += lanes) visit(tag, at);
    if (at < width) visit(tag, width - lanes);
  };
  if (width >= kLanes) {
    visit_all(d, kLanes);
  } else if (width >= kFew) {
    visit_all(hn::CappedTag<T, kFew>(), kFew);
  } else {
    visit_all(hn::CappedTag<T, 1>(), 1);
  }
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
