#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/reductions/extremes.cpp"

#include "engine/native/kernels/reductions/extremes.h"
#include "engine/native/kernels/vector/targets.h"

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <bool is_max, class T>
bool extreme(const T* x, int64_t size, T* result) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d)), step = 4 * lanes;
  const auto better = [](V a, V b) { return is_max ? hn::Max(a, b) : hn::Min(a, b); };
  V best0 = hn::LoadU(d, x), best1 = best0, best2 = best0, best3 = best0;
  auto are_numbers = hn::Eq(best0, best0);
  const auto take = [&](const T* from) {
    const V a = hn::LoadU(d, from), b = hn::LoadU(d, from + lanes);
    const V c = hn::LoadU(d, from + 2 * lanes), e = hn::LoadU(d, from + 3 * lanes);
    best0 = better(best0, a);
    best1 = better(best1, b);
    best2 = better(best2, c);
    best3 = better(best3, e);
    are_numbers = hn::And(are_numbers, hn::And(hn::Eq(a, a), hn::Eq(b, b)));
    are_numbers = hn::And(are_numbers, hn::And(hn::Eq(c, c), hn::Eq(e, e)));
  };
  for (int64_t i = 0; i + step < size; i += step) take(x + i);
  take(x + size - step);  // some of these elements were taken already, which changes nothing
  if (!hn::AllTrue(d, are_numbers)) return false;
  const V best = better(better(best0, best1), better(best2, best3));
  *result = hn::GetLane(is_max ? hn::MaxOfLanes(d, best) : hn::MinOfLanes(d, best));
  return *result != 0;
}

template <class T>
bool extreme_of(const T* x, int64_t size, bool is_max, T* result) {
  return is_max ? extreme<true>(x, size, result) : extreme<false>(x, size, result);
}

bool extreme_of_floats(const float* x, int64_t size, bool is_max, float* result) {
  return extreme_of(x, size, is_max, result);
}
bool extreme_of_doubles(const double* x, int64_t size, bool is_max, double* result) {
  return extreme_of(x, size, is_max, result);
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace farcall::native {
namespace {
HWY_EXPORT(extreme_of_floats);
HWY_EXPORT(extreme_of_doubles);
}  // namespace

bool find_extreme(const float* x, int64_t size, bool is_max, float* result) {
  return HWY_DYNAMIC_DISPATCH(extreme_of_floats)(x, size, is_max, result);
}
bool find_extreme(const double* x, int64_t size, bool is_max, double* result) {
  return HWY_DYNAMIC_DISPATCH(extreme_of_doubles)(x, size, is_max, result);
}

}  // namespace farcall::native
#endif
