// a * b + c, rounded once, for processors without a fused multiply-add.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace farcall::native {

// The product is exact in double. The sum is rounded to odd: to the neighbour whose last bit is
// set, unless it is exact. Rounding it again then gives the same as a single rounding: S. Boldo and
// G. Melquiond, "Emulation of a FMA and correctly rounded sums" (IEEE Transactions on Computers,
// 2008).
inline float fused(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const auto term = static_cast<double>(c);
  double sum = product + term;
  const double virtual_term = sum - product;
  const double error = (product - (sum - virtual_term)) + (term - virtual_term);
  auto bits = std::bit_cast<int64_t>(sum);
  if ((error < 0 || error > 0) && (bits & 1) == 0) {  // neither exact nor NaN
    bits += (error > 0) == (sum > 0) ? 1 : -1;
    sum = std::bit_cast<double>(bits);
  }
  return static_cast<float>(sum);
}
inline double fused(double a, double b, double c) { return std::fma(a, b, c); }

}  // namespace farcall::native
