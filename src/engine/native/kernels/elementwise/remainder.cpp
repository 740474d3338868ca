#include "engine/native/kernels/elementwise/remainder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/native/kernels/instruction_sets.h"

namespace farcall::native {
namespace {

// x - q y for the whole number q next to x / y. Both sides are multiples of the last place of y,
// and the difference is smaller than y, so it is exact if q y is: products of two float32 are in
// float64, and others are fused with the difference.
template <class T>
double less_multiple(double x, double q, double y) {
  if constexpr (sizeof(T) == 4) {
    return x - q * y;
  } else {
    return std::fma(-q, y, x);
  }
}

// Quotients below kMost have at most 29 bits. std::fmod computes the others, and special values.
constexpr double kMost = int64_t{1} << 29;

template <class T>
double quotient_of(T x, T y) {
  return std::fabs(static_cast<double>(x)) / std::fabs(static_cast<double>(y));
}

template <class T>
void remainders(const void* const* inputs, void* output, int64_t size, int64_t) {
  constexpr int64_t kAtOnce = 128;
  constexpr double kWhole = int64_t{1} << 52;  // a number that has no fraction after the sum
  const auto* x = static_cast<const T*>(inputs[0]);
  const auto* y = static_cast<const T*>(inputs[1]);
  auto* to = static_cast<T*>(output);
  for (int64_t start = 0; start < size; start += kAtOnce) {
    const int64_t count = std::min(kAtOnce, size - start);
    alignas(64) T found[kAtOnce];
    uint64_t has_rare = 0;
    for (int64_t i = 0; i < count; ++i) {
      const T signed_x = x[start + i];
      const double from = std::fabs(static_cast<double>(signed_x));
      const double by = std::fabs(static_cast<double>(y[start + i]));
      const double quotient = quotient_of(signed_x, y[start + i]);
      has_rare |= quotient < kMost ? 0 : ~uint64_t{0};
      const double whole = (quotient + kWhole) - kWhole;
      const double some = less_multiple<T>(from, whole, by);
      const double rest = whole == 0 ? from : some;  // by may be infinite
      const double more = rest + by;
      const double least = rest < 0 ? more : rest;  // the quotient was rounded up
      found[i] = static_cast<T>(std::copysign(least, static_cast<double>(signed_x)));
    }
    for (int64_t i = 0; has_rare && i < count; ++i) {
      if (quotient_of(x[start + i], y[start + i]) < kMost) continue;
      found[i] = std::fmod(x[start + i], y[start + i]);
    }
    std::copy_n(found, count, to + start);
  }
}

}  // namespace

Loop float32_remainder_loop() { return best_loop<remainders<float>>(); }

Loop float64_remainder_loop() {
  return loop_target() == LoopTarget::kAvx512 ? best_loop<remainders<double>>() : nullptr;
}

}  // namespace farcall::native
