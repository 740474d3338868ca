// Sums and products of many elements, for reductions and running results.
#pragma once

#include <complex>

#include "engine/native/kernels/arithmetic.h"

namespace farcall::native {

// Sums and products of single precision are kept in double.
template <class T>
struct WideOf {
  using type = T;
};
template <>
struct WideOf<float> {
  using type = double;
};
template <>
struct WideOf<std::complex<float>> {
  using type = std::complex<double>;
};

struct Sum {
  static constexpr bool kSignless = true;
  template <class T>
  using Accumulator = typename WideOf<T>::type;
  template <class A>
  static A combine(A a, A b) {
    return add(a, b);
  }
};
struct Product {
  static constexpr bool kSignless = true;
  template <class T>
  using Accumulator = typename WideOf<T>::type;
  template <class A>
  static A combine(A a, A b) {
    return multiply(a, b);
  }
};

}  // namespace farcall::native
