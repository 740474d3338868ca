// Modified Bessel functions.
#include <cmath>
#include <limits>
#include <numbers>

#include <boost/math/special_functions/bessel.hpp>

#include "engine/native/kernels/special/boost_policy.h"
#include "engine/native/kernels/special/special.h"

namespace farcall::native {
namespace {

// e^-x times the function of order 0 or 1, for x >= 200: Abramowitz and Stegun, 9.7.1.
template <class T>
T scaled_far(int order, T x) {
  T term = 1, sum = 1;
  for (int k = 1; k < 16; ++k) {
    const T odd = static_cast<T>(2 * k - 1);
    term *= -(static_cast<T>(4 * order) - odd * odd) / (static_cast<T>(8 * k) * x);
    sum += term;
  }
  return sum / (std::sqrt(x) * std::sqrt(2 * std::numbers::pi_v<T>));
}

// e^-x times the function of order 0 or 1, for x >= 0.
template <class T>
T scaled(int order, T x) {
  if (x == std::numeric_limits<T>::infinity()) return 0;
  if (x >= 200) return scaled_far(order, x);
  return boost::math::cyl_bessel_i(order, x, BoostPolicy()) * std::exp(-x);
}

template <class T>
T plain(int order, T x) {
  if (x == std::numeric_limits<T>::infinity()) return x;
  if (x < 200) return boost::math::cyl_bessel_i(order, x, BoostPolicy());
  const T root = std::exp(x / 2);  // e^x alone may overflow
  return root * scaled_far(order, x) * root;
}

}  // namespace

template <class T>
T bessel_i0(T x) {
  return x != x ? x : plain(0, std::fabs(x));
}
template <class T>
T bessel_i1(T x) {
  return x != x ? x : std::copysign(plain(1, std::fabs(x)), x);
}
template <class T>
T bessel_i0e(T x) {
  return x != x ? x : scaled(0, std::fabs(x));
}
template <class T>
T bessel_i1e(T x) {
  return x != x ? x : std::copysign(scaled(1, std::fabs(x)), x);
}

#define FARCALL_INSTANTIATE(T) \
  template T bessel_i0<T>(T);  \
  template T bessel_i1<T>(T);  \
  template T bessel_i0e<T>(T); \
  template T bessel_i1e<T>(T);
FARCALL_INSTANTIATE(double)
FARCALL_INSTANTIATE(long double)
#undef FARCALL_INSTANTIATE

}  // namespace farcall::native
