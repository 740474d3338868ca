#include <farcall/core/element_number.h>

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <farcall/core/element_text.h>

#include "core/internal/visit_dtype.h"

namespace farcall {
namespace {

using detail::kIsComplex;
using detail::load;
using detail::store;
using detail::visit_dtype;

// Any element: as a float, and also exactly as an integer if it is whole and fits 64 bits.
struct Number {
  bool is_whole = false;
  bool is_rounded_never = false;  // comes from an integer dtype
  bool is_negative = false;
  uint64_t magnitude = 0;
  double real = 0, imag = 0;
};

constexpr double kTwoTo64 = 18446744073709551616.0;

template <class T>
Number to_number(T value) {
  Number n;
  if constexpr (std::is_integral_v<T>) {
    n.is_whole = n.is_rounded_never = true;
    if constexpr (std::is_signed_v<T>) n.is_negative = value < 0;
    n.magnitude = n.is_negative ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
    n.real = static_cast<double>(n.magnitude) * (n.is_negative ? -1 : 1);
    return n;
  } else if constexpr (kIsComplex<T>) {
    n = to_number(value.real());
    n.imag = static_cast<double>(value.imag());
    return n;
  } else {
    n.real = static_cast<double>(
        static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(value));
    n.is_whole = std::fabs(n.real) < kTwoTo64 && std::trunc(n.real) == n.real;
    if (n.is_whole) {
      n.is_negative = n.real < 0;
      n.magnitude = static_cast<uint64_t>(std::fabs(n.real));
    }
    return n;
  }
}

// Limits of an integer dtype, which may have fewer bits than the byte that holds it.
uint64_t largest(const DTypeInfo& info, bool negative) {
  if (info.kind == DTypeKind::kBool) return negative ? 0 : 1;
  const bool is_signed = info.kind == DTypeKind::kSigned;
  if (negative && !is_signed) return 0;
  const int bits = info.bits - (is_signed ? 1 : 0);
  const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return negative ? all + 1 : all;
}

template <class T>
double read_back(T value) {
  if constexpr (std::is_same_v<T, double>) return value;
  return static_cast<double>(static_cast<float>(value));
}

template <class T>
bool round_to(double value, T& out) {
  if constexpr (std::is_same_v<T, double>) {
    out = value;
    return true;
  } else {
    const auto narrow = static_cast<float>(value);
    // float4_e2m1fn saturates. Its largest value is 6 and the next one would be 8: numbers from 7
    // on are out of range.
    if (std::is_same_v<T, ffi::float4_e2m1fn> && !(std::fabs(narrow) < 7)) return false;
    out = T(narrow);
    const double got = read_back(out);
    return std::isnan(got) == std::isnan(value) && std::isinf(got) == std::isinf(value) &&
           (got == 0) == (value == 0);
  }
}

template <class T>
bool from_number(const Number& n, const DTypeInfo& info, T& out) {
  if constexpr (std::is_integral_v<T>) {
    if (!n.is_whole || n.imag != 0 || n.magnitude > largest(info, n.is_negative)) return false;
    out = static_cast<T>(n.is_negative ? ~n.magnitude + 1 : n.magnitude);
    return true;
  } else if constexpr (kIsComplex<T>) {
    typename T::value_type real, imag;
    if (!from_number(Number{n.is_whole, n.is_rounded_never, n.is_negative, n.magnitude, n.real},
                     info, real) ||
        !round_to(n.imag, imag)) {
      return false;
    }
    out = T(real, imag);
    return true;
  } else {
    if (n.imag != 0 || !round_to(n.real, out)) return false;
    if (!n.is_rounded_never) return true;
    const double got = std::fabs(read_back(out));
    return got < kTwoTo64 && static_cast<uint64_t>(got) == n.magnitude;
  }
}

// The smallest and the largest finite value.
template <class T>
std::pair<double, double> float_range() {
  double low = 0, high = 0;
  if constexpr (std::is_floating_point_v<T>) {
    high = std::numeric_limits<T>::max();
    low = -high;
  } else {
    for (uint32_t bits = 0; bits < uint32_t{1} << (8 * sizeof(T)); ++bits) {
      const double value = read_back(T::from_bits(static_cast<decltype(T().bits())>(bits)));
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  return {low, high};
}

}  // namespace

bool convert_element(DType from, const void* element, DType to, void* out) {
  const Number number = visit_dtype(from, [&](auto sample) {
    using T = decltype(sample);
    if constexpr (std::is_same_v<T, bool>) return to_number(load<uint8_t>(element) != 0);
    return to_number(load<T>(element));
  });
  return visit_dtype(to, [&](auto sample) {
    if (!from_number(number, dtype_info(to), sample)) return false;
    store(sample, out);
    return true;
  });
}

std::string range_text(DType dtype) {
  return visit_dtype(dtype, [&](auto sample) -> std::string {
    using T = decltype(sample);
    const DTypeInfo& info = dtype_info(dtype);
    if constexpr (std::is_same_v<T, bool>) {
      return "True or False";
    } else if constexpr (std::is_integral_v<T>) {
      const uint64_t low = largest(info, true);
      return fmt::format("from {}{} to {}", low > 0 ? "-" : "", low, largest(info, false));
    } else if constexpr (kIsComplex<T>) {
      return fmt::format("with parts {}",
                         range_text(sizeof(T) == 8 ? DType::kFloat32 : DType::kFloat64));
    } else {
      const auto [low, high] = float_range<T>();
      const T first = T(static_cast<float>(low)), last = T(static_cast<float>(high));
      if constexpr (std::is_same_v<T, double>) {
        return fmt::format("from {} to {}", format_element(dtype, &low),
                           format_element(dtype, &high));
      }
      return fmt::format("from {} to {}", format_element(dtype, &first),
                         format_element(dtype, &last));
    }
  });
}

}  // namespace farcall
