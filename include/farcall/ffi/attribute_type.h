// The types that a target declares for its attributes, and the conversion of values to them.
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
  // The type of an example, such as a default value: its kind and dtype, and those of a
  // dictionary's values.
  explicit AttributeType(const Attribute& example);
  // The type that a handler describes.
  explicit AttributeType(const ffi::TypeDesc& description);

  // "float32", "an array of int64", "a string"
  std::string to_string() const;

  Kind kind = Kind::kAny;
  DType dtype = DType::kInvalid;                        // of scalars and arrays; kInvalid: any
  std::vector<std::pair<std::string, int64_t>> values;  // of an enum, by name; empty: any value
  // Of a dictionary, together with `names`; other entries may have any type. Of kOneOf, the
  // alternatives, without names.
  std::vector<AttributeType> parts;
  std::vector<std::string> names;
};

using AttributeTypes = std::map<std::string, AttributeType, std::less<>>;

// Converts a value to the type. Plain numbers are converted: integers exactly, floats rounded to
// nearest. Other values keep their type, which must be this one. Raises INVALID_ARGUMENT. The text
// begins with `declared`, which names the origin of the type, and has the path inside a dictionary,
// the type, its range and the value: "the handler declares attribute n as int8, from -128 to 127;
// 300 cannot be represented exactly".
FARCALL_API Attribute convert_attribute(const Attribute& value, const AttributeType& type,
                                        std::string_view declared, const std::string& name);

}  // namespace farcall
