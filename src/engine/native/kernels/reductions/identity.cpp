#include "engine/native/kernels/reductions/identity.h"

#include <limits>
#include <utility>

#include "engine/native/kernels/elementwise/elementwise.h"

namespace farcall::native {
namespace {

// The lowest and the highest value of a real dtype, in the compute dtype.
struct Extremes {
  Element lowest, highest;
};

Extremes narrow_extremes(DType dtype) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  float lowest = -kInfinity, highest = kInfinity;
  if (byte_width(dtype) == 1) {
    // Some 8-bit dtypes have no infinities, and one has no negative values.
    std::swap(lowest, highest);
    for (int bits = 0; bits < 1 << dtype_info(dtype).bits; ++bits) {
      const auto byte = static_cast<uint8_t>(bits);
      float value;
      narrow_to_float(dtype)(&byte, &value, 1, {});
      if (value < lowest) lowest = value;
      if (value > highest) highest = value;
    }
  }
  return {Element::of(lowest), Element::of(highest)};
}

Extremes extremes(DType dtype) {
  const auto& info = dtype_info(dtype);
  if (is_narrow_float(dtype)) return narrow_extremes(dtype);
  Extremes result;
  for_each_compute_type([&]<class T>() {
    if (kDTypeOf<T> != compute_dtype(dtype)) return;
    using Limits = std::numeric_limits<T>;
    if constexpr (Complex<T>) {
      const auto infinity = std::numeric_limits<typename T::value_type>::infinity();
      result = {Element::of(T(-infinity, -infinity)), Element::of(T(infinity, infinity))};
    } else if constexpr (Float<T>) {
      result = {Element::of(-Limits::infinity()), Element::of(Limits::infinity())};
    } else {
      const int unused = static_cast<int>(8 * sizeof(T)) - info.bits;
      result = {Element::of(static_cast<T>(Limits::min() >> unused)),
                Element::of(static_cast<T>(Limits::max() >> unused))};
    }
  });
  return result;
}

}  // namespace

Element identity_value(Identity identity, DType dtype) {
  Element result;
  if (identity == Identity::kLowest) return extremes(dtype).lowest;
  if (identity == Identity::kHighest) return extremes(dtype).highest;
  if (identity == Identity::kAllBits) std::memset(result.bytes, 0xff, sizeof(result.bytes));
  if (identity == Identity::kOne) {
    const int64_t one = 1;
    make_conversion(DType::kInt64, compute_dtype(dtype)).run(&one, result.bytes, 1);
  }
  return result;
}

}  // namespace farcall::native
