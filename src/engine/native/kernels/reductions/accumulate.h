// How many elements are combined into one, for reductions and running results.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "engine/native/kernels/elementwise/arithmetic.h"

namespace farcall::native {

// Sums and products of single precision accumulate in double precision.
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

struct Maximum {
  template <class T>
  using Accumulator = T;
  template <class A>
  static A combine(A a, A b) {
    return maximum(a, b);
  }
};
struct Minimum {
  template <class T>
  using Accumulator = T;
  template <class A>
  static A combine(A a, A b) {
    return minimum(a, b);
  }
};
// Accumulators side by side: the same number for every instruction set, so that the order of
// combination is the same.
inline constexpr int64_t kLanes = 64;

// Combines the second half of 2 kStep lanes into the first half, repeatedly, until one is left.
template <int64_t kStep, class A, class Combine>
void halve(A* lanes, Combine combine) {
  for (int64_t lane = 0; lane < kStep; ++lane) {
    lanes[lane] = combine(lanes[lane], lanes[lane + kStep]);
  }
  if constexpr (kStep > 1) halve<kStep / 2>(lanes, combine);
}

// Combines all of x into one accumulator.
template <class Op, class A, class T>
A reduce_lanes(const T* x, int64_t size, A identity) {
  const auto at = [x](int64_t i) { return static_cast<A>(x[i]); };
  A result = identity;
  int64_t i = 0;
  if (size >= kLanes) {
    A lanes[kLanes];
    std::fill_n(lanes, kLanes, identity);
    // Takes four rows at once: the accumulators are in memory, and this waits for them less often.
    for (; i + 4 * kLanes <= size; i += 4 * kLanes) {
#pragma GCC unroll 1
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        const int64_t p = i + lane;
        const A low = Op::combine(at(p), at(p + kLanes));
        const A high = Op::combine(at(p + 2 * kLanes), at(p + 3 * kLanes));
        lanes[lane] = Op::combine(lanes[lane], Op::combine(low, high));
      }
    }
    for (; i + kLanes <= size; i += kLanes) {
#pragma GCC unroll 1
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] = Op::combine(lanes[lane], at(i + lane));
      }
    }
    halve<kLanes / 2>(lanes, Op::template combine<A>);
    result = lanes[0];
  }
  for (; i < size; ++i) result = Op::combine(result, at(i));
  return result;
}

}  // namespace farcall::native
