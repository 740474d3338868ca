#include "tools/operand.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/element_text.h>
#include <farcall/core/error.h>
#include <farcall/core/quote.h>
#include <farcall/handler/dtype.h>

#include "tools/failure.h"

namespace farcall::tools {
namespace {

constexpr std::string_view kFormOfAttributes = "Write name:type=value, for example eps:f32=1e-5.";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<DType> find_element_type(std::string_view text) {
  for (const DTypeInfo& info : all_dtypes()) {
    if (!is_key(info.dtype) && text == element_type_name(info.dtype)) return info.dtype;
  }
  const auto dtype = parse_dtype(text);
  return dtype && !is_key(*dtype) ? dtype : std::nullopt;
}

// Raises Failure for a text without brackets that starts with an element type, such as f32N.
void check_for_missing_bracket(std::string_view text) {
  if (find_element_type(text)) return;
  for (size_t length = text.size() - 1; text.size() > 1 && length > 0; --length) {
    if (!find_element_type(text.substr(0, length))) continue;
    throw Failure(kUsage, fmt::format("operand {}: brackets are missing. Write {}[{}].",
                                      farcall::quoted(text), text.substr(0, length),
                                      text.substr(length, text.find(']') - length)));
  }
}

// The text of the number in the notation of farcall's programs.
std::string program_text(DType dtype, std::string_view text) {
  if (text == "true") return "True";
  if (text == "false") return "False";
  if (!is_complex(dtype) || text.starts_with('(')) return std::string(text);
  return fmt::format("({}{})", text, text.ends_with('j') ? "" : "+0j");
}

Attribute parse_number(DType dtype, std::string_view text, std::string_view whole) {
  std::byte bytes[16] = {};
  try {
    parse_element(dtype, program_text(dtype, text), bytes);
  } catch (const Error&) {
    throw Failure(kUsage,
                  fmt::format("attribute {}: {} is not a value of {}{}.", farcall::quoted(whole),
                              farcall::quoted(text), element_type_name(dtype),
                              is_complex(dtype) ? ". Write, for example, 1+2j" : ""));
  }
  return Attribute::scalar(dtype, std::span(bytes, byte_width(dtype)));
}

Attribute parse_value(std::string_view type, std::string_view text, std::string_view whole) {
  if (type == "str" || type == "string") return Attribute(std::string(text));
  const bool is_array = type.ends_with("[]");
  const DType dtype = parse_element_type(type.substr(0, type.size() - (is_array ? 2 : 0)),
                                         fmt::format("attribute {}", farcall::quoted(whole)));
  if (!is_array) return parse_number(dtype, text, whole);
  std::vector<std::byte> bytes;
  size_t count = 0;
  for (const std::string& part : text.empty() ? std::vector<std::string>() : split(text, ',')) {
    const Attribute element = parse_number(dtype, trimmed(part), whole);
    bytes.insert(bytes.end(), element.bytes().begin(), element.bytes().end());
    ++count;
  }
  return Attribute::array(dtype, count, bytes);
}

// Text that parses as a number is a plain number; any other text is a string.
Attribute untyped_value(std::string_view text) {
  if (text == "true" || text == "false") return Attribute(text == "true");
  std::byte bytes[8];
  for (const DType dtype : {DType::kInt64, DType::kFloat64}) {
    try {
      parse_element(dtype, text, bytes);
      return Attribute::scalar(dtype, bytes).plain();
    } catch (const Error&) {
      continue;
    }
  }
  return Attribute(std::string(text));
}

void set_path(Attributes& attributes, std::string_view path, Attribute value,
              std::string_view whole) {
  const size_t dot = path.find('.');
  if (path.empty() || dot == 0) {
    throw Failure(kUsage, fmt::format("attribute {}: it has no name. {}", farcall::quoted(whole),
                                      kFormOfAttributes));
  }
  if (dot == std::string_view::npos) {
    if (attributes.find(path)) {
      throw Failure(kUsage, fmt::format("attribute {} is given twice.", farcall::quoted(path)));
    }
    attributes.set(std::string(path), std::move(value));
    return;
  }
  const std::string name(path.substr(0, dot));
  const Attribute* existing = attributes.find(name);
  Attributes inner = existing && existing->kind() == Attribute::Kind::kDictionary
                         ? existing->as_dictionary()
                         : Attributes();
  set_path(inner, path.substr(dot + 1), std::move(value), whole);
  attributes.set(name, Attribute(std::move(inner)));
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.emplace_back(trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

int64_t parse_integer(std::string_view text, std::string_view what) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Failure(kUsage, fmt::format("{}: \"{}\" is not an integer.", what, text));
  }
  return value;
}

std::optional<ShapeDtype> Operand::type(const Sizes& sizes) const {
  constexpr double kMostBytes = 1e18;
  double nbytes = static_cast<double>(byte_width(dtype));
  Shape shape;
  for (const SizeExpression& extent : extents) {
    const auto size = extent.size(sizes);
    if (!size) return std::nullopt;
    shape.push_back(*size);
    nbytes *= static_cast<double>(std::max<int64_t>(1, *size));
  }
  if (nbytes > kMostBytes) return std::nullopt;
  return ShapeDtype(dtype, shape);
}

std::string Operand::to_string() const {
  std::vector<std::string> sizes;
  for (const SizeExpression& extent : extents) sizes.push_back(extent.to_string());
  return fmt::format("{}[{}]", element_type_name(dtype), fmt::join(sizes, ","));
}

std::string_view element_type_name(DType dtype) {
  return ffi::detail::dtype_name(static_cast<ffi::DataType>(dtype));
}

std::string type_text(const ShapeDtype& type) {
  return fmt::format("{}[{}]", element_type_name(type.dtype()), fmt::join(type.shape(), ","));
}

std::string_view letter_of_dimension(size_t dimension) {
  constexpr std::string_view kLetters = "NMKLPQRS";
  return kLetters.substr(dimension % kLetters.size(), 1);
}

DType parse_element_type(std::string_view text, std::string_view what) {
  if (const auto dtype = find_element_type(text)) return *dtype;
  throw Failure(
      kUsage,
      fmt::format("{}{}\"{}\" is not an element type. Write, for example, f32, s64, bool or c64.",
                  what, what.empty() ? "" : ": ", text));
}

Operand parse_operand(std::string_view text) {
  const std::string_view whole = trimmed(text);
  const std::string what = fmt::format("operand {}", farcall::quoted(whole));
  const size_t open = whole.find('[');
  if (open == std::string_view::npos) check_for_missing_bracket(whole);
  Operand operand = {.dtype = parse_element_type(trimmed(whole.substr(0, open)), what),
                     .extents = {},
                     .layout = {},
                     .range = {}};
  if (open == std::string_view::npos) return operand;
  if (whole.back() != ']') {
    throw Failure(kUsage, fmt::format("operand {}: no \"]\" at its end.", farcall::quoted(whole)));
  }
  const std::string_view inner = trimmed(whole.substr(open + 1, whole.size() - open - 2));
  if (inner.empty()) return operand;
  for (const std::string& part : split(inner, ',')) {
    operand.extents.emplace_back(part == "?" ? letter_of_dimension(operand.extents.size()) : part,
                                 what);
  }
  return operand;
}

void parse_attribute(std::string_view text, Attributes& attributes) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw Failure(kUsage,
                  fmt::format("attribute {}: {}", farcall::quoted(text), kFormOfAttributes));
  }
  const std::string_view name = text.substr(0, equals), value = text.substr(equals + 1);
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) {
    set_path(attributes, name, untyped_value(value), text);
  } else {
    set_path(attributes, name.substr(0, colon), parse_value(name.substr(colon + 1), value, text),
             text);
  }
}

}  // namespace farcall::tools
