// Attributes with the names of XLA's header: AttrDecoding, which kernels may specialize,
// dictionaries, pointers, and structs listed by XLA_FFI_REGISTER_STRUCT_ATTR_DECODING.
#pragma once

#include <farcall/handler/detail/binding.h>
#include <farcall/handler/dictionary.h>
#include <farcall/xla/diagnostic.h>
#include <farcall/xla/error.h>
#include <farcall/xla/types.h>

FARCALL_XLA_NAMESPACE

namespace internal {

using ::farcall::ffi::NamedType;
using ::farcall::ffi::TypeDesc;
using ::farcall::ffi::TypeKind;

// Marks the decodings below, to distinguish them from a kernel's own.
struct BuiltinAttr {};
struct StructAttrBase {};

// The types that farcall's header decodes: scalars, enums, strings, spans, variants, dictionaries.
template <typename T>
struct FarcallAttr : BuiltinAttr {
  using Type = T;
  using Decoding = ::farcall::ffi::AttrDecoding<T>;

  static bool Isa(XLA_FFI_AttrType type, void* attr) {
    return ::farcall::ffi::detail::accepts<T>(static_cast<FARCALL_FFI_AttrType>(type), attr);
  }
  static std::optional<T> Decode(XLA_FFI_AttrType type, void* attr, DiagnosticEngine& diagnostic) {
    std::optional<T> value;
    if (decode(static_cast<FARCALL_FFI_AttrType>(type), attr, value)) return value;
    ::farcall::ffi::detail::Text text;
    text << "wanted ";
    ::farcall::ffi::detail::print_type(text, Decoding::kType);
    text << ", got ";
    ::farcall::ffi::detail::print_attribute(text, static_cast<FARCALL_FFI_AttrType>(type), attr,
                                            false);
    return diagnostic.Emit(std::string(text.view()));
  }

  FARCALL_FFI_INLINE static bool decode(FARCALL_FFI_AttrType kind, const void* attr,
                                        std::optional<T>& out) {
    return Decoding::decode(kind, attr, out.emplace());
  }
  static constexpr const TypeDesc* type() { return &Decoding::kType; }
};

}  // namespace internal

// Open: a kernel may specialize it with Type and `static std::optional<Type>
// Decode(XLA_FFI_AttrType, void*, DiagnosticEngine&)`.
template <typename T>
struct AttrDecoding : internal::FarcallAttr<T> {};

// How HANDLER_AUTO binds a parameter. Kernels may specialize them.
template <typename T>
struct ArgBinding {
  using Arg = void;
};
template <typename T>
struct RetBinding {
  using Ret = void;
};
template <typename T>
struct AttrBinding {
  using Attr = void;
};
template <typename T>
struct AttrsBinding {
  using Attrs = void;
};
template <typename T>
struct CtxBinding {
  using Ctx = void;
};

// An attribute parameter of a function bound by HANDLER_AUTO.
template <typename T, const char* attr_name>
class Attr {
 public:
  Attr(T value) : value_(std::move(value)) {}
  T& operator*() { return value_; }
  T* operator->() { return &value_; }

 private:
  T value_;
};
template <typename T, const char* attr_name>
struct AttrBinding<Attr<T, attr_name>> {
  using Attr = T;
  static constexpr const char* name() { return attr_name; }
};

// ---- decoding of one value ------------------------------------------------------------------

namespace internal {

template <typename T>
inline constexpr bool kIsBuiltinAttr = std::is_base_of_v<BuiltinAttr, AttrDecoding<T>>;
template <typename T>
inline constexpr bool kIsStructAttr = std::is_base_of_v<StructAttrBase, AttrDecoding<T>>;

template <typename T>
constexpr bool is_decodable() {
  if constexpr (std::is_base_of_v<FarcallAttr<T>, AttrDecoding<T>>) {
    return ::farcall::ffi::detail::kIsDecodable<T>;
  } else {
    return true;
  }
}

// A kernel's own decoding reports its own errors, so its description accepts everything.
inline bool accept_all(FARCALL_FFI_AttrType, const void*) { return true; }
inline constexpr TypeDesc kForeignType = {
    TypeKind::kCustom, DataType::INVALID, -1, "a value of its own kind", nullptr, 0, &accept_all};

template <typename T>
constexpr const TypeDesc* attr_type() {
  if constexpr (kIsBuiltinAttr<T>) {
    return AttrDecoding<T>::type();
  } else {
    return &kForeignType;
  }
}

template <typename T>
using AttrType = typename AttrDecoding<T>::Type;

template <typename T>
FARCALL_FFI_INLINE bool decode_attr(FARCALL_FFI_AttrType kind, const void* attr,
                                    std::optional<AttrType<T>>& out, std::string* why = nullptr) {
  if constexpr (kIsBuiltinAttr<T>) {
    return AttrDecoding<T>::decode(kind, attr, out);
  } else {
    DiagnosticEngine diagnostic;
    out = AttrDecoding<T>::Decode(static_cast<XLA_FFI_AttrType>(kind), const_cast<void*>(attr),
                                  diagnostic);
    if (!out.has_value() && why != nullptr) *why = std::move(diagnostic).Result();
    return out.has_value();
  }
}

}  // namespace internal

// ---- addresses passed as integers -----------------------------------------------------------

template <typename T>
struct Pointer {};

template <typename T>
struct AttrDecoding<Pointer<T>> : internal::BuiltinAttr {
  using Type = T*;
  using Number = internal::FarcallAttr<int64_t>;

  static bool Isa(XLA_FFI_AttrType type, void* attr) { return Number::Isa(type, attr); }
  static std::optional<T*> Decode(XLA_FFI_AttrType type, void* attr, DiagnosticEngine& diagnostic) {
    std::optional<int64_t> number = Number::Decode(type, attr, diagnostic);
    if (!number) return std::nullopt;
    return reinterpret_cast<T*>(static_cast<uintptr_t>(*number));
  }
  static bool decode(FARCALL_FFI_AttrType kind, const void* attr, std::optional<T*>& out) {
    std::optional<int64_t> number;
    if (!Number::decode(kind, attr, number)) return false;
    out = reinterpret_cast<T*>(static_cast<uintptr_t>(*number));
    return true;
  }
  static constexpr const internal::TypeDesc* type() { return Number::type(); }
};

// ---- dictionaries ---------------------------------------------------------------------------

class Dictionary {
 public:
  Dictionary() = default;
  explicit Dictionary(const XLA_FFI_Attrs* attrs) : attrs_(internal::as_farcall(attrs)) {}
  explicit Dictionary(const ::farcall::ffi::Dictionary& attrs) : attrs_(attrs) {}

  using Iterator = ::farcall::ffi::Dictionary::Iterator;

  size_t size() const { return attrs_.size(); }
  bool empty() const { return attrs_.empty(); }
  Iterator begin() const { return attrs_.begin(); }
  Iterator end() const { return attrs_.end(); }

  bool contains(std::string_view name) const { return attrs_.contains(name); }
  template <typename T>
  bool contains(std::string_view name) const {
    return attrs_.contains<T>(name);
  }
  template <typename T>
  bool isa(const Iterator& it) const {
    return attrs_.isa<T>(it);
  }

  // Returns NOT_FOUND if the name is absent, INVALID_ARGUMENT if the value has another type.
  template <typename T>
  ErrorOr<T> get(std::string_view name) const {
    return internal::as_xla(attrs_.get<T>(name));
  }
  template <typename T>
  ErrorOr<T> get(const Iterator& it) const {
    return internal::as_xla(attrs_.get<T>(it));
  }

 private:
  ::farcall::ffi::Dictionary attrs_;
};

template <>
struct AttrsBinding<Dictionary> {
  using Attrs = Dictionary;
};

// ---- structs --------------------------------------------------------------------------------

template <typename T>
struct StructMember {
  using Type = T;
  constexpr explicit StructMember(std::string_view member_name) : name(member_name) {}
  std::string_view name;  // must be a string literal
};

namespace internal {

template <typename... Ts>
struct MemberList {
  template <typename... Members>
  constexpr explicit MemberList(Members... members) : names{members.name...} {}
  std::string_view names[sizeof...(Ts)];
};
template <typename... Members>
constexpr auto members_of(Members... members) {
  static_assert(sizeof...(Members) > 0, "farcall: the struct needs at least one StructMember");
  static_assert((is_decodable<typename Members::Type>() && ...),
                "farcall: a StructMember<T> has a type that cannot be decoded from an attribute");
  return MemberList<typename Members::Type...>(members...);
}

template <typename List>
struct MembersOf;
template <typename... Ts>
struct MembersOf<MemberList<Ts...>> {
  static constexpr size_t kSize = sizeof...(Ts);
  struct Types {
    NamedType values[kSize];
  };
  template <size_t... Is>
  static constexpr Types types(const MemberList<Ts...>& list, std::index_sequence<Is...>) {
    return {{NamedType{list.names[Is].data(), attr_type<Ts>(), false, 0}...}};
  }

  template <typename T, typename Names, size_t... Is>
  static bool decode(const FARCALL_FFI_Attrs& attrs, const Names& names, std::optional<T>& out,
                     std::index_sequence<Is...> indices) {
    int32_t scratch[kSize];
    const ::farcall::ffi::detail::Positions at =
        ::farcall::ffi::detail::locate_names(names, attrs, scratch, indices);
    if (at == nullptr) return false;
    ::farcall::ffi::detail::Pack<std::optional<AttrType<Ts>>...> values;
    const bool ok = ((at[Is] >= 0 && decode_attr<Ts>(attrs.types[at[Is]], attrs.attrs[at[Is]],
                                                     ::farcall::ffi::detail::at<Is>(values))) &&
                     ...);
    if (ok) out.emplace(T{*std::move(::farcall::ffi::detail::at<Is>(values))...});
    return ok;
  }
};

// `Self` provides members(), which returns a MemberList, and name().
template <typename T, typename Self>
struct StructAttr : BuiltinAttr, StructAttrBase {
  using Type = T;

  static bool Isa(XLA_FFI_AttrType type, void* attr) {
    std::optional<T> ignored;
    return decode(static_cast<FARCALL_FFI_AttrType>(type), attr, ignored);
  }
  static std::optional<T> Decode(XLA_FFI_AttrType type, void* attr, DiagnosticEngine& diagnostic) {
    std::optional<T> value;
    if (decode(static_cast<FARCALL_FFI_AttrType>(type), attr, value)) return value;
    return diagnostic.Emit("the attribute is not a dictionary with the members of ")
           << Self::name();
  }

  static bool decode(FARCALL_FFI_AttrType kind, const void* attr, std::optional<T>& out) {
    if (kind != FARCALL_FFI_AttrType_DICTIONARY || attr == nullptr) return false;
    static constexpr auto kList = Self::members();
    using Members = MembersOf<std::remove_const_t<decltype(kList)>>;
    static constexpr ::farcall::ffi::detail::NameTable<Members::kSize> kNames(kList.names);
    static_assert(!kNames.has_duplicates, "farcall: two StructMembers have the same name");
    return Members::decode(*static_cast<const FARCALL_FFI_Attrs*>(attr), kNames, out,
                           std::make_index_sequence<Members::kSize>{});
  }

  static constexpr const TypeDesc* type() { return &Description<Self>::kType; }

 private:
  // Separate, because it needs Self to be complete.
  template <typename S>
  struct Description {
    static constexpr auto kList = S::members();
    using Members = MembersOf<std::remove_const_t<decltype(kList)>>;
    static constexpr auto kTypes =
        Members::types(kList, std::make_index_sequence<Members::kSize>{});
    static constexpr TypeDesc kType = {TypeKind::kStruct, DataType::INVALID, -1,
                                       S::name(),         kTypes.values,     Members::kSize};
  };
};

}  // namespace internal
FARCALL_XLA_NAMESPACE_END

namespace farcall::ffi {

template <>
struct AttrDecoding<::xla::ffi::Dictionary> {
  static constexpr TypeDesc kType = AttrDecoding<Dictionary>::kType;
  static bool decode(FARCALL_FFI_AttrType kind, const void* attribute,
                     ::xla::ffi::Dictionary& out) {
    Dictionary attrs;
    const bool fits = AttrDecoding<Dictionary>::decode(kind, attribute, attrs);
    out = ::xla::ffi::Dictionary(attrs);
    return fits;
  }
};

namespace detail {

template <typename T>
inline constexpr bool kIsOfXla =
    !::xla::ffi::internal::kIsBuiltinAttr<T> || ::xla::ffi::internal::kIsStructAttr<T>;

// Types that kernels registered under XLA's names, inside dictionaries and variants.
template <typename T>
struct BuiltinAttrDecoding<T, std::enable_if_t<std::is_class_v<T> && kIsOfXla<T>>> {
  static_assert(std::is_same_v<::xla::ffi::internal::AttrType<T>, T>,
                "farcall: a dictionary or a variant holds values of the type that it names; this "
                "AttrDecoding makes another type");
  static_assert(std::is_default_constructible_v<T>,
                "farcall: a type that is taken out of a dictionary or a variant needs a default "
                "constructor");
  static constexpr TypeDesc kType = *::xla::ffi::internal::attr_type<T>();
  static bool decode(FARCALL_FFI_AttrType kind, const void* attribute, T& out) {
    std::optional<T> value;
    if (!::xla::ffi::internal::decode_attr<T>(kind, attribute, value)) return false;
    out = *std::move(value);
    return true;
  }
};

}  // namespace detail
}  // namespace farcall::ffi
