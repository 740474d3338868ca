#include <farcall/core/element_text.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <farcall/core/error.h>

#include "core/internal/visit_dtype.h"

namespace farcall {
namespace {

using detail::kIsComplex;
using detail::load;
using detail::store;
using detail::visit_dtype;

[[noreturn]] void not_a_value(DType dtype, std::string_view text) {
  invalid_argument(fmt::format("\"{}\" is not a value of {}.", text, dtype_name(dtype)));
}

// ---- text

std::string with_point(std::string text) {
  // "inf" and "nan" contain an n.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

template <class T>
std::string shortest(T value) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return with_point(std::string(buffer, end.ptr));
}

// The fewest digits that read back to the same bits; the exact value if that is no longer.
template <class T>
std::string shortest_narrow(T element) {
  const auto value = static_cast<float>(element);
  if (!std::isfinite(value)) return shortest(value);
  for (int precision = 1; precision <= std::numeric_limits<float>::max_digits10; ++precision) {
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value,
                                   std::chars_format::scientific, precision - 1);
    double decimal = 0;
    std::from_chars(buffer, end.ptr, decimal);
    if (T(static_cast<float>(decimal)).bits() != element.bits()) continue;
    std::string text = shortest(decimal), exact = shortest(value);
    return exact.size() <= text.size() ? exact : text;
  }
  return shortest(value);
}

template <class T>
std::string format_value(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "True" : "False";
  } else if constexpr (std::is_integral_v<T>) {
    return fmt::format("{}", value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return shortest(value);
  } else if constexpr (kIsComplex<T>) {
    const std::string imag = shortest(value.imag());
    return fmt::format("({}{}{}j)", shortest(value.real()), imag[0] == '-' ? "" : "+", imag);
  } else {
    return shortest_narrow(value);
  }
}

// ---- parsing

template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

template <class T>
bool parse_value(std::string_view text, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = text == "True";
    return value || text == "False";
  } else if constexpr (std::is_arithmetic_v<T>) {
    return parse_number(text, value);
  } else if constexpr (kIsComplex<T>) {
    if (!text.starts_with('(') || !text.ends_with("j)")) return false;
    text = text.substr(1, text.size() - 3);
    // The sign between the parts: not the leading one, not that of an exponent.
    size_t split = text.find_last_of("+-");
    if (split != std::string_view::npos && split > 0 && text[split - 1] == 'e') {
      split = text.find_last_of("+-", split - 1);
    }
    if (split == std::string_view::npos || split == 0) return false;
    std::string_view imag_text = text.substr(split);
    if (imag_text[0] == '+') imag_text.remove_prefix(1);
    typename T::value_type real, imag;
    if (!parse_number(text.substr(0, split), real) || !parse_number(imag_text, imag)) return false;
    value = T(real, imag);
    return true;
  } else {
    float parsed;
    if (!parse_number(text, parsed)) return false;
    value = T(parsed);
    // Out of range if the narrow float became nan or infinite. float4_e2m1fn saturates: its largest
    // value is 6 and the next one would be 8, so numbers from 7 on are out of range.
    if (std::is_same_v<T, ffi::float4_e2m1fn> && !(std::fabs(parsed) < 7)) return false;
    const auto got = static_cast<float>(value);
    return std::isnan(got) == std::isnan(parsed) && std::isinf(got) == std::isinf(parsed);
  }
}

// Integers below eight bits are parsed as bytes.
bool is_in_range(const DTypeInfo& info, int64_t value) {
  if (info.kind == DTypeKind::kSigned) {
    const int64_t limit = int64_t{1} << (info.bits - 1);
    return value >= -limit && value < limit;
  }
  return value < int64_t{1} << info.bits;
}

// ---- random keys: written as the 64-bit seed

using KeyWords = std::array<uint32_t, 2>;

uint64_t seed_of(KeyWords words) { return static_cast<uint64_t>(words[0]) << 32 | words[1]; }
KeyWords key_of(uint64_t seed) {
  return {static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(seed)};
}

}  // namespace

std::string format_element(DType dtype, const void* element) {
  if (is_key(dtype)) return format_value(seed_of(load<KeyWords>(element)));
  return visit_dtype(dtype, [&](auto sample) -> std::string {
    using T = decltype(sample);
    if constexpr (std::is_same_v<T, bool>) return format_value(load<uint8_t>(element) != 0);
    return format_value(load<T>(element));
  });
}

void parse_element(DType dtype, std::string_view text, void* element) {
  if (is_key(dtype)) {
    uint64_t seed = 0;
    if (!parse_value(text, seed)) not_a_value(dtype, text);
    return store(key_of(seed), element);
  }
  visit_dtype(dtype, [&](auto sample) {
    using T = decltype(sample);
    T value{};
    if (!parse_value(text, value)) not_a_value(dtype, text);
    if constexpr (std::is_integral_v<T> && sizeof(T) == 1) {
      if (!is_in_range(dtype_info(dtype), value)) not_a_value(dtype, text);
    }
    store(value, element);
  });
}

}  // namespace farcall
