// The text of attributes: exact, stable, independent of machine and locale.
#include <farcall/ffi/attribute.h>

#include <fmt/format.h>

#include <farcall/core/element_text.h>
#include <farcall/core/quote.h>

namespace farcall {

std::string Attribute::to_string() const {
  switch (kind()) {
    case Kind::kString:
      return quoted(as_string());
    case Kind::kDictionary:
      return as_dictionary().to_string();
    case Kind::kScalar:
      return fmt::format("{}:{}", format_element(dtype(), bytes().data()),
                         dtype_short_name(dtype()));
    case Kind::kArray:
      break;
  }
  std::string out = "[";
  for (size_t i = 0; i < count(); ++i) {
    if (i > 0) out += ',';
    out += format_element(dtype(), bytes().data() + i * byte_width(dtype()));
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
