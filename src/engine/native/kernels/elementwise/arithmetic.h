// Arithmetic on single elements where C++ has undefined behaviour, or differs from array semantics.
#pragma once

#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <farcall/core/dtype.h>

namespace farcall::native {

template <class T>
concept Float = std::same_as<T, float> || std::same_as<T, double>;
template <class T>
concept Complex = std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;
template <class T>
concept Signed = Integer<T> && std::is_signed_v<T>;
template <class T>
concept Unsigned = Integer<T> && std::is_unsigned_v<T>;

// The unsigned type in which sums and products of T wrap. Types below 32 bits would promote to int,
// whose products overflow.
template <Integer T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

template <class T>
T add(T a, T b) {
  if constexpr (Integer<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  } else {
    return a + b;
  }
}

template <class T>
T subtract(T a, T b) {
  if constexpr (Integer<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  } else {
    return a - b;
  }
}

// Complex products by the plain formula; std::complex would test each one for NaN.
template <class T>
T multiply(T a, T b) {
  if constexpr (Integer<T>) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  } else if constexpr (Complex<T>) {
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  } else {
    return a * b;
  }
}

// NaN wins, and +0 is above -0. All candidates are computed and one is selected, without branches,
// so that loops are vectorized. Complex numbers are ordered by the real part, then the imaginary
// part.
template <class T>
T maximum(T a, T b) {
  if constexpr (Float<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    const T zero = std::bit_cast<T>(std::bit_cast<Bits>(a) & std::bit_cast<Bits>(b));
    const T apart = a > b ? a : b;  // b where it is NaN
    const T number = a == b ? zero : apart;
    return a == a ? number : a;
  } else if constexpr (Complex<T>) {
    if (a != a) return a;
    if (b != b) return b;
    return a.real() > b.real() || (a.real() == b.real() && a.imag() >= b.imag()) ? a : b;
  } else {
    return a > b ? a : b;
  }
}

template <class T>
T minimum(T a, T b) {
  if constexpr (Float<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    const T zero = std::bit_cast<T>(std::bit_cast<Bits>(a) | std::bit_cast<Bits>(b));
    const T apart = a < b ? a : b;  // b where it is NaN
    const T number = a == b ? zero : apart;
    return a == a ? number : a;
  } else if constexpr (Complex<T>) {
    if (a != a) return a;
    if (b != b) return b;
    return a.real() < b.real() || (a.real() == b.real() && a.imag() <= b.imag()) ? a : b;
  } else {
    return a < b ? a : b;
  }
}

}  // namespace farcall::native
