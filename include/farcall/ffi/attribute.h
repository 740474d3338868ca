// Attributes: the constants that a foreign call passes to its target, by name and with exact types.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <farcall/core/dtype.h>
#include <farcall/core/export.h>
#include <farcall/core/storage.h>

namespace farcall {

class Attribute;

// Named attributes, sorted bytewise by name as the binary interface requires. Names are unique.
class FARCALL_API Attributes {
 public:
  using value_type = std::pair<std::string, Attribute>;
  using const_iterator = const value_type*;

  Attributes();
  // Sorts the entries. Raises INVALID_ARGUMENT for duplicate names.
  Attributes(std::initializer_list<value_type> entries);
  explicit Attributes(std::vector<value_type> entries);
  Attributes(const Attributes& other);
  Attributes(Attributes&& other) noexcept;
  Attributes& operator=(const Attributes& other);
  Attributes& operator=(Attributes&& other) noexcept;
  ~Attributes();

  // Adds an attribute, or replaces the value of an existing one.
  void set(std::string name, Attribute value);
  // Null if there is no such name. Valid until the next change.
  const Attribute* find(std::string_view name) const;

  const_iterator begin() const;
  const_iterator end() const;
  size_t size() const;
  bool empty() const { return size() == 0; }

  size_t hash() const;
  // "{a=1:i64, b=\"x\"}"
  std::string to_string() const;
  friend FARCALL_API bool operator==(const Attributes& a, const Attributes& b);

 private:
  void sort_by_name();

  std::vector<value_type> entries_;
};

namespace detail {

// Character types are text, not numbers.
template <typename T>
inline constexpr bool kIsCharacter =
    std::same_as<T, char> || std::same_as<T, wchar_t> || std::same_as<T, char8_t> ||
    std::same_as<T, char16_t> || std::same_as<T, char32_t>;
// As int, because == of dtypes would look for conversions to Attribute.
template <typename T>
concept AttributeNumber = !kIsCharacter<T> && static_cast<int>(scalar_dtype<T>()) != 0;

}  // namespace detail

// An immutable value: a scalar or an array of one element type, a string of any bytes, or a
// dictionary. Two are equal if kind, element type and bits are: 2:i32, 2:i64 and 2.0:f32 differ, a
// nan equals itself, and 0.0 differs from -0.0. A plain number differs from a typed one. Copies
// share the bytes of an array.
class FARCALL_API Attribute {
 public:
  enum class Kind : uint8_t { kScalar, kArray, kString, kDictionary };

  template <detail::AttributeNumber T>
  Attribute(T value)  // NOLINT: a number is an attribute
      : Attribute(scalar(detail::scalar_dtype<T>(), std::as_bytes(std::span(&value, 1)))) {}
  template <detail::AttributeNumber T>
  Attribute(std::span<const T> values)  // NOLINT
      : Attribute(array(detail::scalar_dtype<T>(), values.size(), std::as_bytes(values))) {}
  template <detail::AttributeNumber T>
  requires(!std::same_as<T, bool>) Attribute(const std::vector<T>& values)  // NOLINT
      : Attribute(std::span<const T>(values)) {}
  Attribute(std::string value);       // NOLINT
  Attribute(std::string_view value);  // NOLINT
  Attribute(const char* value);       // NOLINT
  Attribute(Attributes dictionary);   // NOLINT

  // From raw bytes, for element types without a C++ type. Raises INVALID_ARGUMENT if the number of
  // bytes does not match the type and the count, or if the type has no elements.
  static Attribute scalar(DType dtype, std::span<const std::byte> bytes);
  static Attribute array(DType dtype, size_t count, std::span<const std::byte> bytes);

  // The same numbers marked as plain, such as Python's 2 or [1, 2]. A call converts plain numbers
  // to the type that its target declares; without a declaration they keep the type they have here.
  Attribute plain() const;
  // The same with plain numbers marked as typed, in dictionaries too.
  Attribute typed() const;
  bool is_plain() const;

  Kind kind() const { return static_cast<Kind>(value_.index()); }
  // The element type of a scalar or an array; kInvalid otherwise.
  DType dtype() const;
  // The number of elements: 1 for a scalar, 0 for a string or a dictionary.
  size_t count() const;
  // The bits of a scalar or an array, or the text of a string. Valid as long as this attribute.
  std::span<const std::byte> bytes() const;
  // Raise INVALID_ARGUMENT if the kind differs.
  const std::string& as_string() const;
  const Attributes& as_dictionary() const;
  // The value of a scalar of exactly this type. Raises INVALID_ARGUMENT for any other.
  template <detail::AttributeNumber T>
  T as() const {
    T value;
    copy_scalar(detail::scalar_dtype<T>(), &value);
    return value;
  }

  size_t hash() const;
  // Stable and exact: "1e-05:f32", "[1,2]:i64", "True:bool", "(1.0+2.0j):c64", "\"abc\"",
  // "{a=1:i64}". Numbers are the shortest decimals that read back to the same bits; every nan is
  // "nan".
  std::string to_string() const;
  friend FARCALL_API bool operator==(const Attribute& a, const Attribute& b);

 private:
  struct Scalar {
    DType dtype;
    bool is_plain;
    alignas(16) std::array<std::byte, 16> bytes;
  };
  struct Array {
    DType dtype;
    bool is_plain;
    size_t count;
    Storage storage;
  };
  using Value = std::variant<Scalar, Array, std::string, Attributes>;  // in the order of Kind

  explicit Attribute(Value value);
  void set_plain(bool is_plain);
  void copy_scalar(DType dtype, void* out) const;

  Value value_;
};

}  // namespace farcall

template <>
struct std::hash<farcall::Attribute> {
  size_t operator()(const farcall::Attribute& attribute) const { return attribute.hash(); }
};
template <>
struct std::hash<farcall::Attributes> {
  size_t operator()(const farcall::Attributes& attributes) const { return attributes.hash(); }
};
