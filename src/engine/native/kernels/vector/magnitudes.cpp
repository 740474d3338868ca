#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/vector/magnitudes.cpp"

#include <cstring>
#include <limits>

#include "engine/native/kernels/elementwise/complex_math.h"
#include "engine/native/kernels/vector/targets.h"

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include "engine/native/kernels/vector/basics-inl.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Floats()));

// 1 / (2 x) for 1 <= x < 5.7, with an error below 2%: the best line, and two of Newton's steps.
HWY_INLINE Vector half_of_inverse(Vector x) {
  const Floats d;
  const Vector one = hn::Set(d, 1.0F);
  Vector y = hn::Mul(hn::Set(d, 0.0597F), hn::Sub(hn::Set(d, 6.66F), x));
  const Vector twice = hn::Add(x, x);
  for (int i = 0; i < 2; ++i) y = fma(d, y, fma(d, hn::Neg(twice), y, one), y);
  return y;
}

// The root of the sum of squares. Both parts are divided by the power of 2 of the larger one, so
// that no square overflows or is subnormal. The sum is kept with what its roundings leave, and
// corrects the root. The error is below 0.55 units of the last place, for subnormal results 0.8.
HWY_INLINE Vector magnitude(Vector re, Vector im) {
  const Floats d;
  const hn::RebindToSigned<Floats> bits;
  re = hn::Abs(re);
  im = hn::Abs(im);
  const auto re_bits = hn::BitCast(bits, re), im_bits = hn::BitCast(bits, im);
  const auto larger = hn::Max(re_bits, im_bits), smaller = hn::Min(re_bits, im_bits);
  const auto least = hn::Set(bits, 1 << 23), most = hn::Set(bits, 253 << 23);
  const auto exponent = hn::Min(hn::Max(hn::And(larger, hn::Set(bits, 0x7f800000)), least), most);
  const Vector power = hn::BitCast(d, exponent);
  const Vector inverse = hn::BitCast(d, hn::Sub(hn::Add(least, most), exponent));
  const Vector x = hn::Mul(hn::BitCast(d, larger), inverse);
  const Vector y = hn::Mul(hn::BitCast(d, smaller), inverse);
  const Vector xx = hn::Mul(x, x), yy = hn::Mul(y, y), sum = hn::Add(xx, yy);
  const Vector of_products = hn::Add(fma(d, x, x, hn::Neg(xx)), fma(d, y, y, hn::Neg(yy)));
  const Vector left = hn::Add(hn::Add(hn::Sub(xx, sum), yy), of_products);
  const Vector root = hn::Sqrt(sum);
  const Vector rest = hn::Add(fma(d, hn::Neg(root), root, sum), left);
  const Vector exact = fma(d, rest, half_of_inverse(root), root);
  // An infinite number with one NaN is infinite.
  const Vector infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto is_infinite = hn::Or(hn::Eq(re, infinity), hn::Eq(im, infinity));
  return hn::IfThenElse(is_infinite, infinity, hn::Mul(exact, power));
}

void magnitudes(const void* const* inputs, void* output, int64_t size, int64_t) {
  const Floats d;
  const auto* x = static_cast<const float*>(inputs[0]);  // both parts of each number
  auto* to = static_cast<float*>(output);
  Vector re, im;
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    hn::LoadInterleaved2(d, x + 2 * i, re, im);
    hn::StoreU(magnitude(re, im), d, to + i);
  }
  if (i == size) return;
  const auto left = static_cast<size_t>(size - i) * sizeof(float);
  HWY_ALIGN float parts[2 * kLanes] = {}, found[kLanes];
  std::memcpy(parts, x + 2 * i, 2 * left);
  hn::LoadInterleaved2(d, parts, re, im);
  hn::Store(magnitude(re, im), d, found);
  std::memcpy(to + i, found, left);
}

Loop magnitudes_loop() { return magnitudes; }

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace farcall::native {
namespace {
HWY_EXPORT(magnitudes_loop);
}  // namespace

Loop complex_abs_loop() { return HWY_DYNAMIC_DISPATCH(magnitudes_loop)(); }

}  // namespace farcall::native
#endif
