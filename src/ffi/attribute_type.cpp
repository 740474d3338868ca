#include <farcall/ffi/attribute_type.h>

#include <algorithm>
#include <complex>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/element_number.h>
#include <farcall/core/element_text.h>
#include <farcall/core/error.h>
#include <farcall/core/quote.h>

namespace farcall {
namespace {

using Kind = AttributeType::Kind;

// The value as the user wrote it: plain numbers without a type suffix.
std::string written(const Attribute& value) {
  std::string text = value.to_string();
  if (value.is_plain()) text.resize(text.rfind(':'));
  return text;
}

// Whether a number that the dtype cannot represent is too small for it, not too large or inexact.
bool would_vanish(DType from, const std::byte* element, DType to) {
  std::complex<double> number;
  return is_inexact(to) && is_complex(from) == is_complex(to) &&
         convert_element(from, element, DType::kComplex128, &number) && number != 0.0 &&
         std::abs(number) < 1;
}

// A value that does not fit its type: its path, the expected type and the reason.
struct Misfit {
  std::string path;
  const AttributeType* type = nullptr;
  std::string why;
};

// Converts a value to a type; returns nullopt and records the misfit if it does not fit.
class Converter {
 public:
  // Without conversions it accepts only values that have the type already.
  explicit Converter(bool converts) : converts_(converts) {}

  std::optional<Attribute> run(const Attribute& value, const AttributeType& type,
                               const std::string& path) {
    switch (type.kind) {
      case Kind::kAny:
        return value.typed();
      case Kind::kScalar:
      case Kind::kArray:
        return numbers(value, type, path);
      case Kind::kString:
        if (value.kind() == Attribute::Kind::kString) return value;
        return got(value, type, path);
      case Kind::kDictionary:
        return dictionary(value, type, path);
      case Kind::kOneOf:
        return one_of(value, type, path);
    }
    return std::nullopt;
  }

  const Misfit& misfit() const { return misfit_; }

 private:
  std::optional<Attribute> fail(const AttributeType& type, const std::string& path,
                                std::string why) {
    misfit_ = {path, &type, std::move(why)};
    return std::nullopt;
  }
  std::optional<Attribute> got(const Attribute& value, const AttributeType& type,
                               const std::string& path) {
    return fail(type, path, fmt::format("; got {}", written(value)));
  }

  std::optional<Attribute> numbers(const Attribute& value, const AttributeType& type,
                                   const std::string& path) {
    const auto wanted =
        type.kind == Kind::kScalar ? Attribute::Kind::kScalar : Attribute::Kind::kArray;
    if (value.kind() != wanted) return got(value, type, path);
    const DType to = type.dtype == DType::kInvalid ? value.dtype() : type.dtype;
    if (value.dtype() == to) return enumerated(value.typed(), type, path);
    if (!value.is_plain()) {
      return fail(
          type, path,
          fmt::format("; got {}. Typed values are not converted: pass a plain number, or {}",
                      value.to_string(), with_article(dtype_name(to))));
    }
    if (!converts_) return got(value, type, path);
    std::vector<std::byte> bytes(value.count() * byte_width(to));
    for (size_t i = 0; i < value.count(); ++i) {
      const std::byte* element = value.bytes().data() + i * byte_width(value.dtype());
      if (convert_element(value.dtype(), element, to, bytes.data() + i * byte_width(to))) continue;
      const std::string where =
          wanted == Attribute::Kind::kArray ? fmt::format("element {}, ", i) : std::string();
      return fail(
          type, path,
          fmt::format(", {}; {}{} {}", range_text(to), where,
                      format_element(value.dtype(), element),
                      would_vanish(value.dtype(), element, to) ? "would become 0"
                                                               : "cannot be represented exactly"));
    }
    return enumerated(wanted == Attribute::Kind::kScalar
                          ? Attribute::scalar(to, bytes)
                          : Attribute::array(to, value.count(), bytes),
                      type, path);
  }

  std::optional<Attribute> enumerated(Attribute value, const AttributeType& type,
                                      const std::string& path) {
    const auto is_it = [&](const auto& entry) {
      int64_t number = 0;
      return convert_element(value.dtype(), value.bytes().data(), DType::kInt64, &number) &&
             number == entry.second;
    };
    if (type.values.empty() || std::ranges::any_of(type.values, is_it)) return value;
    return fail(type, path,
                fmt::format("; got {}", format_element(value.dtype(), value.bytes().data())));
  }

  std::optional<Attribute> dictionary(const Attribute& value, const AttributeType& type,
                                      const std::string& path) {
    if (value.kind() != Attribute::Kind::kDictionary) return got(value, type, path);
    Attributes converted;
    for (const auto& [name, item] : value.as_dictionary()) {
      const auto at = std::ranges::find(type.names, name) - type.names.begin();
      const bool is_known = static_cast<size_t>(at) < type.names.size();
      auto part = is_known ? run(item, type.parts[static_cast<size_t>(at)],
                                 fmt::format("{}.{}", path, name))
                           : item.typed();
      if (!part) return std::nullopt;
      converted.set(name, *std::move(part));
    }
    return Attribute(std::move(converted));
  }

  // Tries the alternatives without conversion first, then with conversion: dtypes of the value's
  // own kind before others.
  std::optional<Attribute> one_of(const Attribute& value, const AttributeType& type,
                                  const std::string& path) {
    for (const AttributeType& part : type.parts) {
      if (auto found = Converter(false).run(value, part, path)) return found;
    }
    for (const bool same_sort : {true, false}) {
      for (const AttributeType& part : type.parts) {
        const bool is_same = dtype_info(part.dtype).kind == dtype_info(value.dtype()).kind;
        if (!converts_ || (same_sort && !is_same)) continue;
        if (auto found = Converter(true).run(value, part, path)) return found;
      }
    }
    return got(value, type, path);
  }

  bool converts_;
  Misfit misfit_;
};

}  // namespace

AttributeType::AttributeType(const Attribute& example) : dtype(example.dtype()) {
  switch (example.kind()) {
    case Attribute::Kind::kScalar:
      kind = Kind::kScalar;
      break;
    case Attribute::Kind::kArray:
      kind = Kind::kArray;
      break;
    case Attribute::Kind::kString:
      kind = Kind::kString;
      break;
    case Attribute::Kind::kDictionary:
      kind = Kind::kDictionary;
      for (const auto& [name, value] : example.as_dictionary()) {
        names.push_back(name);
        parts.emplace_back(value);
      }
      break;
  }
}

AttributeType::AttributeType(const ffi::TypeDesc& description)
    : dtype(static_cast<DType>(description.dtype)) {
  switch (description.kind) {
    case ffi::TypeKind::kScalar:
      kind = Kind::kScalar;
      break;
    case ffi::TypeKind::kEnum:
      kind = Kind::kScalar;
      for (size_t i = 0; i < description.num_children; ++i) {
        values.emplace_back(description.children[i].name, description.children[i].value);
      }
      break;
    case ffi::TypeKind::kArray:
      kind = Kind::kArray;
      break;
    case ffi::TypeKind::kString:
      kind = Kind::kString;
      break;
    case ffi::TypeKind::kStruct:
    case ffi::TypeKind::kVariant:
      kind = description.kind == ffi::TypeKind::kStruct ? Kind::kDictionary : Kind::kOneOf;
      for (size_t i = 0; i < description.num_children; ++i) {
        parts.emplace_back(*description.children[i].type);
        if (kind == Kind::kDictionary) names.emplace_back(description.children[i].name);
      }
      break;
    case ffi::TypeKind::kDictionary:
      kind = Kind::kDictionary;
      break;
    case ffi::TypeKind::kBuffer:  // not a type of attributes
    case ffi::TypeKind::kCustom:  // known only to its author
      break;
  }
}

std::string AttributeType::to_string() const {
  const std::string_view element = dtype == DType::kInvalid ? "a number" : dtype_name(dtype);
  switch (kind) {
    case Kind::kAny:
      return "any value";
    case Kind::kScalar: {
      std::vector<std::string> allowed;
      for (const auto& [name, value] : values)
        allowed.push_back(fmt::format("{} ({})", value, name));
      if (allowed.empty()) return std::string(element);
      return fmt::format("{}, one of {}", element, fmt::join(allowed, ", "));
    }
    case Kind::kArray:
      return fmt::format("an array of {}", dtype == DType::kInvalid ? "numbers" : element);
    case Kind::kString:
      return "a string";
    case Kind::kDictionary:
      return "a dictionary";
    case Kind::kOneOf:
      break;
  }
  std::vector<std::string> alternatives;
  for (const AttributeType& part : parts) alternatives.push_back(part.to_string());
  return fmt::format("{}", fmt::join(alternatives, " or "));
}

Attribute convert_attribute(const Attribute& value, const AttributeType& type,
                            std::string_view declared, const std::string& name) {
  Converter converter(/*converts=*/true);
  if (auto converted = converter.run(value, type, name)) return *std::move(converted);
  const Misfit& misfit = converter.misfit();
  invalid_argument(fmt::format("{} declares attribute {} as {}{}", declared, misfit.path,
                               misfit.type->to_string(), misfit.why));
}

}  // namespace farcall
