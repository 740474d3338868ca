#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/reductions/sum_floats.cpp"

#include "engine/native/kernels/reductions/sum_floats.h"

#include <algorithm>

#include "engine/native/kernels/reductions/identity.h"
#include "engine/native/kernels/vector/prefetch.h"
#include "engine/native/kernels/vector/targets.h"

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// In elements.
constexpr int64_t kAhead = kPrefetchDistance / sizeof(float), kLine = kCacheLine / sizeof(float);

double sum(const float* x, int64_t size, double zero) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> narrow;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  constexpr int64_t kVectors = kSums / kLanes;
  hn::Vec<decltype(d)> sums[kVectors];
  for (auto& each : sums) each = hn::Set(d, zero);
  int64_t i = 0;
  for (; i + kSums <= size; i += kSums) {
    // The next row often follows this one in memory.
    for (int64_t at = 0; at < kSums; at += kLine) hwy::Prefetch(x + i + kAhead + at);
#pragma GCC unroll 64
    for (int64_t v = 0; v < kVectors; ++v) {
      sums[v] = hn::Add(sums[v], hn::PromoteTo(d, hn::LoadU(narrow, x + i + v * kLanes)));
    }
  }
  HWY_ALIGN double all[kSums];
  if (i < size) {
    for (int64_t v = 0; v < kVectors; ++v) hn::Store(sums[v], d, all + v * kLanes);
    for (int64_t p = i; p < size; ++p) all[p - i] += static_cast<double>(x[p]);
    for (int64_t v = 0; v < kVectors; ++v) sums[v] = hn::Load(d, all + v * kLanes);
  }
  // The second half of the sums is added to the first, until one is left.
  for (int64_t half = kVectors / 2; half > 0; half /= 2) {
    for (int64_t v = 0; v < half; ++v) sums[v] = hn::Add(sums[v], sums[v + half]);
  }
  hn::Store(sums[0], d, all);
  return sum_halves(all, kLanes);
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace farcall::native {
namespace {
HWY_EXPORT(sum);
}  // namespace

double sum_of_none() { return identity_value(Identity::kZero, DType::kFloat32).as<float>(); }

float sum_of_parts(const double* parts) {
  double all[kPartsOfSum];
  std::ranges::copy_n(parts, kPartsOfSum, all);
  return static_cast<float>(sum_of_none() + sum_halves(all, kPartsOfSum));
}

double sum_floats(const float* x, int64_t size, double zero) {
  return HWY_DYNAMIC_DISPATCH(sum)(x, size, zero);
}

}  // namespace farcall::native
#endif
