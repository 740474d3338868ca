// FARCALL_ATTR_STRUCT and FARCALL_ATTR_ENUM: an author's own types as attributes.
//
//   struct Window { int64_t size; std::optional<int64_t> stride; };
//   FARCALL_ATTR_STRUCT(Window, size, stride);
//
//   enum class Mode : int32_t { kFast, kExact };
//   FARCALL_ATTR_ENUM(Mode, kFast, kExact);
//
// Both must be in the namespace of the type. A struct is decoded from a dictionary with the
// members' names; std::optional members may be absent. An enum is decoded from a scalar of its
// underlying type; only the listed values are accepted. Without the macro an enum accepts any
// value.
#pragma once

#include <farcall/handler/attribute.h>
#include <farcall/handler/detail/foreach.h>
#include <farcall/handler/detail/names.h>

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace farcall::ffi::detail {

template <typename Class, typename T>
struct Member {
  const char* name;
  T Class::*pointer;
};
template <typename Class, typename T>
constexpr Member<Class, T> member(const char* name, T Class::*pointer) {
  return {name, pointer};
}

template <size_t n>
struct NamedTypes {
  const char* name;
  NamedType values[n];
};

// The visitors below receive the struct's name and one Member for each of its members.
struct MemberTypes {
  template <typename Class, typename... Ts>
  constexpr NamedTypes<sizeof...(Ts)> operator()(const char* name, Member<Class, Ts>... ms) const {
    static_assert(
        (kIsDecodable<typename WithoutOptional<Ts>::type> && ...),
        "farcall: a member listed in FARCALL_ATTR_STRUCT has a type that cannot be decoded "
        "from an attribute");
    return {name,
            {{ms.name, attr_type<typename WithoutOptional<Ts>::type>(), kIsOptional<Ts>, 0}...}};
  }
};

struct MemberNames {
  template <typename... Members>
  constexpr NameTable<sizeof...(Members)> operator()(const char*, Members... ms) const {
    const std::string_view names[] = {ms.name...};
    return NameTable<sizeof...(Members)>(names);
  }
};

template <typename T>
struct StructAttrs {
  static constexpr auto kMembers = farcall_attr_struct(static_cast<T*>(nullptr), MemberTypes{});
  static constexpr auto kNames = farcall_attr_struct(static_cast<T*>(nullptr), MemberNames{});
  static constexpr size_t kSize = sizeof(kMembers.values) / sizeof(NamedType);
  static_assert(!kNames.has_duplicates, "farcall: FARCALL_ATTR_STRUCT names a member twice");
  static_assert(std::is_default_constructible_v<T>,
                "farcall: a struct that is decoded from attributes needs a default constructor");

  static bool decode(const FARCALL_FFI_Attrs& attrs, T& out) {
    int32_t scratch[kSize];
    const Positions at = locate_names(kNames, attrs, scratch, std::make_index_sequence<kSize>{});
    if (at == nullptr) return false;
    return farcall_attr_struct(&out, [&](const char*, auto... members) {
      size_t i = 0;
      return (decode_member(attrs, at[i++], out.*members.pointer) && ...);
    });
  }

 private:
  template <typename M>
  static bool decode_member(const FARCALL_FFI_Attrs& attrs, int32_t at, M& out) {
    if (at < 0) return kIsOptional<M>;
    return decode_attribute(attrs.types[at], attrs.attrs[at], out);
  }
};

template <typename T>
struct BuiltinAttrDecoding<
    T, std::void_t<decltype(farcall_attr_struct(static_cast<T*>(nullptr), MemberNames{}))>> {
  static constexpr TypeDesc kType = {TypeKind::kStruct,
                                     DataType::INVALID,
                                     -1,
                                     StructAttrs<T>::kMembers.name,
                                     StructAttrs<T>::kMembers.values,
                                     StructAttrs<T>::kSize};
  static bool decode(FARCALL_FFI_AttrType kind, const void* attribute, T& out) {
    return kind == FARCALL_FFI_AttrType_DICTIONARY && attribute != nullptr &&
           StructAttrs<T>::decode(*static_cast<const FARCALL_FFI_Attrs*>(attribute), out);
  }
};

}  // namespace farcall::ffi::detail

#define FARCALL_ATTR_STRUCT(Type, ...)                                                    \
  template <typename Visitor>                                                             \
  constexpr auto farcall_attr_struct(Type*, const Visitor& visit) {                       \
    return visit(#Type FARCALL_FFI_FOR_EACH(FARCALL_FFI_ATTR_MEMBER, Type, __VA_ARGS__)); \
  }                                                                                       \
  static_assert(::std::is_class_v<Type>, "farcall: FARCALL_ATTR_STRUCT takes a struct")

#define FARCALL_FFI_ATTR_MEMBER(Type, name) , ::farcall::ffi::detail::member(#name, &Type::name)

#define FARCALL_ATTR_ENUM(Type, ...)                                                               \
  constexpr auto farcall_attr_enum(Type*) {                                                        \
    constexpr ::farcall::ffi::NamedType kValues[] = {                                              \
        FARCALL_FFI_FOR_EACH(FARCALL_FFI_ATTR_ENUMERATOR, Type, __VA_ARGS__)};                     \
    ::farcall::ffi::detail::NamedTypes<sizeof(kValues) / sizeof(kValues[0])> list{#Type, {}};      \
    for (size_t i = 0; i < sizeof(kValues) / sizeof(kValues[0]); ++i) list.values[i] = kValues[i]; \
    return list;                                                                                   \
  }                                                                                                \
  static_assert(::std::is_enum_v<Type>, "farcall: FARCALL_ATTR_ENUM takes an enum")

#define FARCALL_FFI_ATTR_ENUMERATOR(Type, name) \
  ::farcall::ffi::NamedType{#name, nullptr, false, static_cast<int64_t>(Type::name)},
