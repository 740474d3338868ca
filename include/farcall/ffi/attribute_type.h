// The types that a target declares for its attributes, and how given values become such.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/ffi/attribute.h>
#include <farcall/handler/detail/signature.h>

namespace farcall {

struct FARCALL_API AttributeType {
  enum class Kind : uint8_t { kAny, kScalar, kArray, kString, kDictionary, kOneOf };

  AttributeType() = default;
  // That of an example, such as a default: its kind and dtype, and those of a dictionary's values.
  explicit AttributeType(const Attribute& example);
  // That which a handler states.
  explicit AttributeType(const ffi::TypeDesc& description);

  // "float32", "an array of int64", "a string"
  std::string to_string() const;

  Kind kind = Kind::kAny;
  DType dtype = DType::kInvalid;                        // of scalars and arrays; kInvalid: any
  std::vector<std::pair<std::string, int64_t>> values;  // of an enum, by name; empty: any
  // Of a dictionary, with their names; others in it are of any type. Of kOneOf, without.
  std::vector<AttributeType> parts;
  std::vector<std::string> names;
};

using AttributeTypes = std::map<std::string, AttributeType, std::less<>>;

// The value as one of this type. Plain numbers are converted: integers exactly, floats rounded to
// the nearest. Others keep their type, and must be of this one. Raises INVALID_ARGUMENT; the text
// begins with `declared`, what declares the type, and has the type, the value and the range, and
// the path inside a dictionary: "the handler declares attribute n as int8, from -128 to 127; 300 is
// no value of it".
FARCALL_API Attribute convert_attribute(const Attribute& value, const AttributeType& type,
                                        std::string_view declared, const std::string& name);

}  // namespace farcall
