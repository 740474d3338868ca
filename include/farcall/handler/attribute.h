// Decoding of one attribute value into a C++ type.
//
// AttrDecoding<T> is open: specialize it to accept a type of your own,
//   template <> struct farcall::ffi::AttrDecoding<Color> {
//     static constexpr TypeDesc kType = custom_type<Color>("color");  // the name in messages
//     static bool decode(FARCALL_FFI_AttrType kind, const void* attribute, Color& out);
//   };
// decode() returns whether the value fits. Enums and structs need only FARCALL_ATTR_ENUM and
// FARCALL_ATTR_STRUCT.
#pragma once

#include <farcall/handler/detail/signature.h>
#include <farcall/handler/dtype.h>
#include <farcall/handler/span.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace farcall::ffi {
namespace detail {

FARCALL_FFI_INLINE const void* scalar_value(FARCALL_FFI_AttrType kind, const void* attribute,
                                            DataType dtype) {
  if (kind != FARCALL_FFI_AttrType_SCALAR || attribute == nullptr) return nullptr;
  const auto* scalar = static_cast<const FARCALL_FFI_Scalar*>(attribute);
  return static_cast<DataType>(scalar->dtype) == dtype ? scalar->value : nullptr;
}

template <typename T, typename = void>
struct BuiltinAttrDecoding {
  static constexpr bool kMissing = true;
};

// Scalars: the element type of any dtype, std::complex included.
template <typename T>
struct BuiltinAttrDecoding<T, std::enable_if_t<kDataTypeOf<T> != DataType::INVALID>> {
  static constexpr TypeDesc kType = {TypeKind::kScalar, kDataTypeOf<T>};
  FARCALL_FFI_INLINE static bool decode(FARCALL_FFI_AttrType kind, const void* attribute, T& out) {
    const void* value = scalar_value(kind, attribute, kDataTypeOf<T>);
    if (value == nullptr) return false;
    // memcpy, because scalars in a foreign frame may be unaligned.
    std::memcpy(static_cast<void*>(&out), value, sizeof(T));
    return true;
  }
};

template <typename T>
struct BuiltinAttrDecoding<Span<const T>, std::enable_if_t<kDataTypeOf<T> != DataType::INVALID>> {
  static constexpr TypeDesc kType = {TypeKind::kArray, kDataTypeOf<T>};
  FARCALL_FFI_INLINE static bool decode(FARCALL_FFI_AttrType kind, const void* attribute,
                                        Span<const T>& out) {
    if (kind != FARCALL_FFI_AttrType_ARRAY || attribute == nullptr) return false;
    const auto* array = static_cast<const FARCALL_FFI_Array*>(attribute);
    if (static_cast<DataType>(array->dtype) != kDataTypeOf<T>) return false;
    if (array->data == nullptr && array->size != 0) return false;
    out = Span<const T>(static_cast<const T*>(array->data), array->size);
    return true;
  }
};

template <>
struct BuiltinAttrDecoding<std::string_view, void> {
  static constexpr TypeDesc kType = {TypeKind::kString};
  FARCALL_FFI_INLINE static bool decode(FARCALL_FFI_AttrType kind, const void* attribute,
                                        std::string_view& out) {
    if (kind != FARCALL_FFI_AttrType_STRING || attribute == nullptr) return false;
    const auto* bytes = static_cast<const FARCALL_FFI_ByteSpan*>(attribute);
    if (bytes->ptr == nullptr && bytes->len != 0) return false;
    out = std::string_view(bytes->ptr, bytes->len);
    return true;
  }
};

// std::string, recognized by its members, so that this header does not include <string>.
template <typename T>
struct BuiltinAttrDecoding<
    T, std::enable_if_t<std::is_same_v<char, typename T::traits_type::char_type> &&
                        std::is_same_v<const char*, decltype(std::declval<T&>().c_str())>>> {
  static constexpr TypeDesc kType = {TypeKind::kString};
  static bool decode(FARCALL_FFI_AttrType kind, const void* attribute, T& out) {
    std::string_view view;
    if (!BuiltinAttrDecoding<std::string_view>::decode(kind, attribute, view)) return false;
    out.assign(view.data(), view.size());
    return true;
  }
};

}  // namespace detail

template <typename T>
struct AttrDecoding : detail::BuiltinAttrDecoding<T> {};

namespace detail {

template <typename T>
FARCALL_FFI_COLD bool accepts(FARCALL_FFI_AttrType kind, const void* attribute) {
  T ignored{};
  return AttrDecoding<T>::decode(kind, attribute, ignored);
}

}  // namespace detail

template <typename T>
constexpr TypeDesc custom_type(const char* name) {
  return {TypeKind::kCustom, DataType::INVALID, -1, name, nullptr, 0, &detail::accepts<T>};
}

namespace detail {

template <typename T, typename = void>
inline constexpr bool kIsDecodable = true;
template <typename T>
inline constexpr bool kIsDecodable<T, std::void_t<decltype(AttrDecoding<T>::kMissing)>> = false;

// Null if T cannot be decoded, so that the static_assert is the compiler's only error.
template <typename T>
constexpr const TypeDesc* attr_type() {
  if constexpr (kIsDecodable<T>) return &AttrDecoding<T>::kType;
  return nullptr;
}

template <typename... Ts>
struct VariantTypes {
  static_assert((kIsDecodable<Ts> && ...),
                "farcall: an alternative of this std::variant cannot be decoded from an attribute");
  static constexpr NamedType kAlternatives[] = {{"", attr_type<Ts>(), false, 0}...};
};

// std::variant, recognized by its members: the first alternative that fits wins.
template <template <typename...> class Variant, typename... Ts>
struct BuiltinAttrDecoding<
    Variant<Ts...>,
    std::void_t<decltype(std::declval<Variant<Ts...>&>().valueless_by_exception())>> {
  static constexpr TypeDesc kType = {
      TypeKind::kVariant, DataType::INVALID, -1, "", VariantTypes<Ts...>::kAlternatives,
      sizeof...(Ts)};
  static bool decode(FARCALL_FFI_AttrType kind, const void* attribute, Variant<Ts...>& out) {
    return first_fit(kind, attribute, out, std::index_sequence_for<Ts...>{});
  }

 private:
  template <size_t... Is>
  static bool first_fit(FARCALL_FFI_AttrType kind, const void* attribute, Variant<Ts...>& out,
                        std::index_sequence<Is...>) {
    return (try_one<Is, Ts>(kind, attribute, out) || ...);
  }
  template <size_t I, typename T>
  static bool try_one(FARCALL_FFI_AttrType kind, const void* attribute, Variant<Ts...>& out) {
    T value{};
    if (!AttrDecoding<T>::decode(kind, attribute, value)) return false;
    out.template emplace<I>(std::move(value));
    return true;
  }
};

// The enumerators listed by FARCALL_ATTR_ENUM. An enum without a list accepts any value.
template <typename T, typename = void>
struct Enumerators {
  static constexpr const NamedType* kBegin = nullptr;
  static constexpr size_t kSize = 0;
  static constexpr const char* kName = "";
};
template <typename T>
struct Enumerators<T, std::void_t<decltype(farcall_attr_enum(static_cast<T*>(nullptr)))>> {
  static constexpr auto kList = farcall_attr_enum(static_cast<T*>(nullptr));
  static constexpr const NamedType* kBegin = kList.values;
  static constexpr size_t kSize = sizeof(kList.values) / sizeof(NamedType);
  static constexpr const char* kName = kList.name;
};

template <typename T>
struct BuiltinAttrDecoding<T, std::enable_if_t<std::is_enum_v<T>>> {
  using Underlying = std::underlying_type_t<T>;
  static constexpr TypeDesc kType = {
      TypeKind::kEnum,       kDataTypeOf<Underlying>, -1,
      Enumerators<T>::kName, Enumerators<T>::kBegin,  Enumerators<T>::kSize};
  static bool decode(FARCALL_FFI_AttrType kind, const void* attribute, T& out) {
    Underlying value{};
    if (!AttrDecoding<Underlying>::decode(kind, attribute, value)) return false;
    out = static_cast<T>(value);
    if constexpr (Enumerators<T>::kSize == 0) return true;
    for (size_t i = 0; i < Enumerators<T>::kSize; ++i) {
      if (Enumerators<T>::kBegin[i].value == static_cast<int64_t>(value)) return true;
    }
    return false;
  }
};

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <typename T>
struct WithoutOptional {
  using type = T;
};
template <typename T>
struct WithoutOptional<std::optional<T>> {
  using type = T;
};

// Decodes into a T or a std::optional<T>.
template <typename T>
FARCALL_FFI_INLINE bool decode_attribute(FARCALL_FFI_AttrType kind, const void* attribute, T& out) {
  if constexpr (kIsOptional<T>) {
    return AttrDecoding<typename T::value_type>::decode(kind, attribute, out.emplace());
  } else {
    return AttrDecoding<T>::decode(kind, attribute, out);
  }
}

}  // namespace detail
}  // namespace farcall::ffi
