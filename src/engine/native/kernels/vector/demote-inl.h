// Doubles rounded to floats. Included once for each instruction set, outside of Highway's
// namespaces.
#if defined(FARCALL_VECTOR_DEMOTE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef FARCALL_VECTOR_DEMOTE_INL_H
#undef FARCALL_VECTOR_DEMOTE_INL_H
#else
#define FARCALL_VECTOR_DEMOTE_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

// D is a tag of doubles. Numbers above the largest float become infinities.
template <class D>
HWY_INLINE auto rounded_to_float(D d, hwy::HWY_NAMESPACE::Vec<D> x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Rebind<float, D> narrow;
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  // Their DemoteTo gives the largest number for infinity.
  alignas(16) double wide[hn::MaxLanes(D())];
  alignas(16) float rounded[hn::MaxLanes(D())];
  hn::Store(x, d, wide);
  for (size_t i = 0; i < hn::Lanes(d); ++i) rounded[i] = static_cast<float>(wide[i]);
  return hn::Load(narrow, rounded);
#else
  static_cast<void>(d);
  return hn::DemoteTo(narrow, x);
#endif
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
