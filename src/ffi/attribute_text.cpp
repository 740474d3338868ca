// The text of attributes: exact, stable, and the same on every machine and locale.
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include <farcall/ffi/attribute.h>

namespace farcall {
namespace {

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

float half_to_float(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t exponent = (bits >> 10) & 31;
  const uint32_t mantissa = bits & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  const float magnitude =
      exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                    : std::ldexp(static_cast<float>(mantissa | 0x400), int(exponent) - 25);
  return sign ? -magnitude : magnitude;
}

// The plain nan of each type is "nan"; any other keeps its bits, so that the text stays exact.
std::string nan_text(uint64_t bits, uint64_t plain) {
  return bits == plain ? "nan" : fmt::format("nan({:#x})", bits);
}

template <typename T>
std::string finite_text(T value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string float_text(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::kFloat64: {
      const auto value = load<double>(at);
      return std::isnan(value) ? nan_text(load<uint64_t>(at), 0x7ff8000000000000)
                               : finite_text(value);
    }
    case DType::kFloat32: {
      const auto value = load<float>(at);
      return std::isnan(value) ? nan_text(load<uint32_t>(at), 0x7fc00000) : finite_text(value);
    }
    case DType::kFloat16: {
      const float value = half_to_float(load<uint16_t>(at));
      return std::isnan(value) ? nan_text(load<uint16_t>(at), 0x7e00) : finite_text(value);
    }
    case DType::kBFloat16: {
      const auto value = std::bit_cast<float>(uint32_t{load<uint16_t>(at)} << 16);
      return std::isnan(value) ? nan_text(load<uint16_t>(at), 0x7fc0) : finite_text(value);
    }
    default:
      return fmt::format("0x{:02x}", load<uint8_t>(at));
  }
}

std::string signed_text(size_t width, const std::byte* at) {
  switch (width) {
    case 1:
      return fmt::format("{}", load<int8_t>(at));
    case 2:
      return fmt::format("{}", load<int16_t>(at));
    case 4:
      return fmt::format("{}", load<int32_t>(at));
    default:
      return fmt::format("{}", load<int64_t>(at));
  }
}

std::string unsigned_text(size_t width, const std::byte* at) {
  switch (width) {
    case 1:
      return fmt::format("{}", load<uint8_t>(at));
    case 2:
      return fmt::format("{}", load<uint16_t>(at));
    case 4:
      return fmt::format("{}", load<uint32_t>(at));
    default:
      return fmt::format("{}", load<uint64_t>(at));
  }
}

std::string complex_text(DType part, const std::byte* at) {
  std::string imaginary = float_text(part, at + byte_width(part));
  if (imaginary.front() != '-') imaginary.insert(0, 1, '+');
  return fmt::format("({}{}j)", float_text(part, at), imaginary);
}

std::string element_text(DType dtype, const std::byte* at) {
  switch (dtype_info(dtype).kind) {
    case DTypeKind::kBool: {
      const auto value = load<uint8_t>(at);
      return value == 0 ? "false" : value == 1 ? "true" : fmt::format("0x{:02x}", value);
    }
    case DTypeKind::kSigned:
      return signed_text(byte_width(dtype), at);
    case DTypeKind::kUnsigned:
      return unsigned_text(byte_width(dtype), at);
    case DTypeKind::kFloat:
      return float_text(dtype, at);
    case DTypeKind::kComplex:
      return complex_text(dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64, at);
    default:
      return "?";
  }
}

// Length of the well-formed UTF-8 sequence of two bytes or more at the front; 0 when there is none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second >= 0xa0;
  const bool too_large = lead == 0xf4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    size_t length = 1;
    if (byte == '"' || byte == '\\') {
      out += {'\\', text.front()};
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (byte >= 0x20 && byte < 0x7f) {
      out += text.front();
    } else if ((length = utf8_length(text)) > 0) {
      out += text.substr(0, length);
    } else {
      length = 1;
      out += fmt::format("\\x{:02x}", byte);
    }
    text.remove_prefix(length);
  }
  return out + '"';
}

bool is_identifier(std::string_view name) {
  const auto word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         std::all_of(name.begin(), name.end(), word);
}

}  // namespace

std::string Attribute::to_string() const {
  switch (kind()) {
    case Kind::kString:
      return quoted(as_string());
    case Kind::kDictionary:
      return as_dictionary().to_string();
    case Kind::kScalar:
      return fmt::format("{}:{}", element_text(dtype(), bytes().data()), dtype_short_name(dtype()));
    case Kind::kArray:
      break;
  }
  std::string out = "[";
  for (size_t i = 0; i < count(); ++i) {
    if (i > 0) out += ',';
    out += element_text(dtype(), bytes().data() + i * byte_width(dtype()));
  }
  return fmt::format("{}]:{}", out, dtype_short_name(dtype()));
}

std::string Attributes::to_string() const {
  std::string out = "{";
  for (const auto& [name, value] : *this) {
    if (out.size() > 1) out += ", ";
    out += fmt::format("{}={}", is_identifier(name) ? name : quoted(name), value.to_string());
  }
  return out + "}";
}

}  // namespace farcall
