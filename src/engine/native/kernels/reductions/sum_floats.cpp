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

// The first `count` elements, fewer than there are lanes, and then -0, which changes no sum.
template <class D>
hn::Vec<D> part_of_vector(D d, const float* from, int64_t count) {
#if HWY_TARGET <= HWY_AVX2
  const auto is_there = hn::FirstN(d, static_cast<size_t>(count));
  return hn::IfThenElse(is_there, hn::MaskedLoad(is_there, d, from), hn::Set(d, -0.F));
#else
  float all[hn::MaxLanes(d)];
  std::fill(std::copy_n(from, count, all), all + hn::MaxLanes(d), -0.F);
  return hn::LoadU(d, all);
#endif
}

// Adds element i to lane i of the vectors. `size` is less than their lanes.
template <int64_t count, class D>
void add_rest(D d, const float* x, int64_t size, hn::Vec<D>* sums) {
  const hn::Rebind<float, D> narrow;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
#pragma GCC unroll 64
  for (int64_t v = 0; v < count; ++v, x += kLanes, size -= kLanes) {
    if (size <= 0) break;
    const auto next = size < kLanes ? part_of_vector(narrow, x, size) : hn::LoadU(narrow, x);
    sums[v] = hn::Add(sums[v], hn::PromoteTo(d, next));
  }
}

// The second half of the vectors and lanes is added to the first, until one is left.
template <int64_t count, class D>
double sum_of_vectors(D d, hn::Vec<D>* vectors) {
  for (int64_t half = count / 2; half > 0; half /= 2) {
    for (int64_t v = 0; v < half; ++v) vectors[v] = hn::Add(vectors[v], vectors[v + half]);
  }
  HWY_ALIGN double lanes[hn::MaxLanes(d)];
  hn::Store(vectors[0], d, lanes);
  return sum_of_halves<hn::MaxLanes(d)>(lanes);
}

// Element i is added to part i modulo `parts`.
template <int64_t parts>
double sum_in_parts(const float* x, int64_t size, double zero) {
  const hn::CappedTag<double, parts> d;
  const hn::Rebind<float, decltype(d)> narrow;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  constexpr int64_t kVectors = parts / kLanes;
  hn::Vec<decltype(d)> sums[kVectors];
  for (auto& each : sums) each = hn::Set(d, zero);
  int64_t i = 0;
  for (; i + parts <= size; i += parts) {
    // The next row often follows this one in memory.
    for (int64_t at = 0; parts == kSums && at < parts; at += kLine) {
      hwy::Prefetch(x + i + kAhead + at);
    }
#pragma GCC unroll 64
    for (int64_t v = 0; v < kVectors; ++v) {
      sums[v] = hn::Add(sums[v], hn::PromoteTo(d, hn::LoadU(narrow, x + i + v * kLanes)));
    }
  }
  add_rest<kVectors>(d, x + i, size - i, sums);
  return sum_of_vectors<kVectors>(d, sums);
}

double sum(const float* x, int64_t size, double zero) {
  return size < kSums ? sum_in_parts<kPartsOfSum>(x, size, zero)
                      : sum_in_parts<kSums>(x, size, zero);
}

void sums(const float* x, int64_t count, int64_t size, double zero, double* accumulators) {
  for (int64_t i = 0; i < count; ++i, x += size) accumulators[i] += sum(x, size, zero);
}

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace farcall::native {
namespace {
HWY_EXPORT(sums);
}  // namespace

double sum_of_none() { return identity_value(Identity::kZero, DType::kFloat32).as<float>(); }

float sum_of_parts(const double* parts) {
  double all[kPartsOfSum];
  std::ranges::copy_n(parts, kPartsOfSum, all);
  return static_cast<float>(sum_of_none() + sum_of_halves<kPartsOfSum>(all));
}

void add_sums(const float* x, int64_t count, int64_t size, double zero, double* accumulators) {
  HWY_DYNAMIC_DISPATCH(sums)(x, count, size, zero, accumulators);
}

}  // namespace farcall::native
#endif
