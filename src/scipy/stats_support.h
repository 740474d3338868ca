// Helpers of the distributions.
#pragma once

#include <array>
#include <limits>
#include <string_view>

#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/promotion.h>
#include <farcall/ops/special_cases.h>
#include <farcall/ops/special_functions.h>
#include <farcall/scipy/stats.h>

namespace farcall::stats {

namespace np = numpy;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Promotes the arguments to one floating dtype.
template <class... Arrays>
std::array<Array, sizeof...(Arrays)> floats(std::string_view function, const Arrays&... x) {
  const std::array types = {x.type()...};
  const DType dtype = with_error_prefix(function, [&] { return promote_to_inexact(types).dtype; });
  return {np::astype(x, dtype)...};
}

// Takes x, any parameters, loc and scale. Returns (x - loc) / scale, the parameters and scale.
template <class... Arrays>
std::array<Array, sizeof...(Arrays) - 1> standard(std::string_view function, const Arrays&... x) {
  constexpr size_t kScale = sizeof...(Arrays) - 1, kLoc = kScale - 1;
  std::array<Array, kScale + 1> all = floats(function, x...);
  std::array<Array, kScale> result;
  result[0] = (all[0] - all[kLoc]) / all[kScale];
  for (size_t i = 1; i < kLoc; ++i) result[i] = all[i];
  result[kLoc] = all[kScale];
  return result;
}

// `value` where the condition holds, else `otherwise`.
inline Array inside(const Array& condition, const Array& value, double otherwise) {
  return np::where(condition, value, np::astype(otherwise, value.dtype()));
}

// low <= x <= high.
inline Array between(const Array& low, const Array& x, const Array& high) {
  return np::logical_and(np::greater_equal(x, low), np::less_equal(x, high));
}

}  // namespace farcall::stats
