// Ffi::Bind().Arg<…>().Ret<…>().Attr<…>("name"): a list of tags, and the names of the attributes.
//
// Everything is constexpr, so the compiler builds the table of a handler whose names are literals.
#pragma once

#include <farcall/xla/buffer.h>
#include <farcall/xla/context.h>

FARCALL_XLA_NAMESPACE

template <>
struct ArgBinding<AnyBuffer> {
  using Arg = AnyBuffer;
};
template <DataType dtype, size_t rank>
struct ArgBinding<Buffer<dtype, rank>> {
  using Arg = Buffer<dtype, rank>;
};
template <>
struct RetBinding<Result<AnyBuffer>> {
  using Ret = AnyBuffer;
};
template <DataType dtype, size_t rank>
struct RetBinding<Result<Buffer<dtype, rank>>> {
  using Ret = Buffer<dtype, rank>;
};

// Open: a kernel may specialize them with `static std::optional<…> Decode(XLA_FFI_ArgType, void*,
// DiagnosticEngine&)`. The buffers above do not need one.
template <typename T>
struct ArgDecoding {
  static constexpr bool kMissing = true;
};
template <typename T>
struct RetDecoding {
  static constexpr bool kMissing = true;
};

namespace internal {

template <typename T>
struct ArgTag {};
template <typename T>
struct OptionalArgTag {};
struct RemainingArgsTag {};
template <typename T>
struct RetTag {};
template <typename T>
struct OptionalRetTag {};
struct RemainingRetsTag {};
template <typename T>
struct AttrTag {};
template <typename T>
struct AttrsTag {};
template <typename T>
struct CtxTag {};

template <typename T>
inline constexpr bool kIsBuffer = false;
template <>
inline constexpr bool kIsBuffer<AnyBuffer> = true;
template <DataType dtype, size_t rank>
inline constexpr bool kIsBuffer<Buffer<dtype, rank>> = true;

template <typename Decoding, typename = void>
inline constexpr bool kIsMissing = false;
template <typename Decoding>
inline constexpr bool kIsMissing<Decoding, std::void_t<decltype(Decoding::kMissing)>> = true;

template <typename T>
inline constexpr bool kIsArg = kIsBuffer<T> || !kIsMissing<ArgDecoding<T>>;
template <typename T>
inline constexpr bool kIsRet = kIsBuffer<T> || !kIsMissing<RetDecoding<T>>;
template <typename T, typename = void>
inline constexpr bool kIsCtx = false;
template <typename T>
inline constexpr bool kIsCtx<T, std::void_t<typename CtxDecoding<T>::Type>> = true;

using ::farcall::ffi::ParamKind;

template <typename Tag>
struct TagTraits;
template <typename T, ParamKind kind, bool is_optional = false>
struct TagOf {
  using Type = T;
  static constexpr ParamKind kKind = kind;
  static constexpr bool kIsOptional = is_optional;
};
template <typename T>
struct TagTraits<ArgTag<T>> : TagOf<T, ParamKind::kArgument> {};
template <typename T>
struct TagTraits<OptionalArgTag<T>> : TagOf<T, ParamKind::kArgument, true> {};
template <>
struct TagTraits<RemainingArgsTag> : TagOf<RemainingArgs, ParamKind::kRemainingArgs> {};
template <typename T>
struct TagTraits<RetTag<T>> : TagOf<T, ParamKind::kResult> {};
template <typename T>
struct TagTraits<OptionalRetTag<T>> : TagOf<T, ParamKind::kResult, true> {};
template <>
struct TagTraits<RemainingRetsTag> : TagOf<RemainingRets, ParamKind::kRemainingRets> {};
template <typename T>
struct TagTraits<AttrTag<T>> : TagOf<T, ParamKind::kAttribute> {};
template <typename T>
struct TagTraits<AttrsTag<T>> : TagOf<T, ParamKind::kAllAttributes> {};
template <typename T>
struct TagTraits<CtxTag<T>> : TagOf<T, ParamKind::kContext> {};

template <typename... Ts>
constexpr bool has_kind([[maybe_unused]] ParamKind kind) {
  return ((TagTraits<Ts>::kKind == kind) || ...);
}
template <typename... Ts>
constexpr bool has_optional([[maybe_unused]] ParamKind kind) {
  return ((TagTraits<Ts>::kKind == kind && TagTraits<Ts>::kIsOptional) || ...);
}
// The number of tags of a kind before index `before`.
template <typename... Ts>
constexpr size_t count_kind(ParamKind kind, size_t before = sizeof...(Ts)) {
  constexpr ParamKind kinds[] = {TagTraits<Ts>::kKind..., ParamKind::kContext};
  size_t found = 0;
  for (size_t i = 0; i != before; ++i) found += kinds[i] == kind ? 1 : 0;
  return found;
}

// Keeps a name that is not a literal until the process ends, because handlers live that long.
inline const char* keep_name(std::string name) {
  struct Kept {
    std::string name;
    Kept* next;
  };
  static std::atomic<Kept*> kept{nullptr};
  auto* fresh = new Kept{std::move(name), kept.load()};
  while (!kept.compare_exchange_weak(fresh->next, fresh)) {
  }
  return fresh->name.c_str();
}

}  // namespace internal

template <ExecutionStage stage, typename... Ts>
class Binding {
  template <typename Tag>
  using With = Binding<stage, Ts..., Tag>;
  using Kind = ::farcall::ffi::ParamKind;

 public:
  constexpr Binding(Binding&&) = default;

  template <typename T>
  constexpr With<internal::ArgTag<T>> Arg() && {
    check_arg<T>();
    static_assert(!internal::has_optional<Ts...>(Kind::kArgument),
                  "farcall: required arguments come before optional ones");
    return With<internal::ArgTag<T>>(names_);
  }
  template <typename T>
  constexpr With<internal::OptionalArgTag<T>> OptionalArg() && {
    check_arg<T>();
    return With<internal::OptionalArgTag<T>>(names_);
  }
  constexpr With<internal::RemainingArgsTag> RemainingArgs() && {
    static_assert(!internal::has_kind<Ts...>(Kind::kRemainingArgs),
                  "farcall: RemainingArgs() can be bound once");
    return With<internal::RemainingArgsTag>(names_);
  }

  template <typename T>
  constexpr With<internal::RetTag<T>> Ret() && {
    check_ret<T>();
    static_assert(!internal::has_optional<Ts...>(Kind::kResult),
                  "farcall: required results come before optional ones");
    return With<internal::RetTag<T>>(names_);
  }
  template <typename T>
  constexpr With<internal::OptionalRetTag<T>> OptionalRet() && {
    check_ret<T>();
    return With<internal::OptionalRetTag<T>>(names_);
  }
  constexpr With<internal::RemainingRetsTag> RemainingRets() && {
    static_assert(!internal::has_kind<Ts...>(Kind::kRemainingRets),
                  "farcall: RemainingRets() can be bound once");
    return With<internal::RemainingRetsTag>(names_);
  }

  template <typename T>
  constexpr With<internal::AttrTag<T>> Attr(const char* name) && {
    static_assert(!internal::has_kind<Ts...>(Kind::kAllAttributes),
                  "farcall: bind either Attrs(), which takes all attributes, or single ones");
    static_assert(internal::is_decodable<T>(),
                  "farcall: Attr<T>(): a T cannot be decoded from an attribute. Register it with "
                  "XLA_FFI_REGISTER_STRUCT_ATTR_DECODING or XLA_FFI_REGISTER_ENUM_ATTR_DECODING, "
                  "or specialize xla::ffi::AttrDecoding");
    return With<internal::AttrTag<T>>(names_, name);
  }
  template <typename T>
  With<internal::AttrTag<T>> Attr(std::string name) && {
    return std::move(*this).template Attr<T>(internal::keep_name(std::move(name)));
  }
  template <typename T = Dictionary>
  constexpr With<internal::AttrsTag<T>> Attrs() && {
    static_assert(!internal::has_kind<Ts...>(Kind::kAttribute) &&
                      !internal::has_kind<Ts...>(Kind::kAllAttributes),
                  "farcall: bind either Attrs(), which takes all attributes, or single ones");
    static_assert(internal::is_decodable<T>(),
                  "farcall: Attrs<T>() takes a Dictionary, or a struct that is registered with "
                  "XLA_FFI_REGISTER_STRUCT_ATTR_DECODING");
    return With<internal::AttrsTag<T>>(names_);
  }

  template <typename T = Context>
  constexpr With<internal::CtxTag<T>> Ctx() && {
    static_assert(internal::kIsCtx<T>,
                  "farcall: Ctx<T>(): T is not a context item of this header. Specialize "
                  "xla::ffi::CtxDecoding, or take the Context and ask its api()");
    return With<internal::CtxTag<T>>(names_);
  }

#ifndef FARCALL_XLA_LEAN
  // Defined in handler.h.
  template <typename Fn>
  auto To(Fn fn, std::initializer_list<Traits> traits = {}) const;
#endif

  constexpr const std::string_view* names() const { return names_; }

 private:
  template <ExecutionStage, typename...>
  friend class Binding;
  friend class Ffi;

  static constexpr size_t kNumNames = internal::count_kind<Ts...>(Kind::kAttribute);

  template <typename T>
  static constexpr void check_arg() {
    static_assert(internal::kIsArg<T>,
                  "farcall: Arg<T>() takes AnyBuffer, Buffer<dtype> or Buffer<dtype, rank>");
    static_assert(!internal::has_kind<Ts...>(Kind::kRemainingArgs),
                  "farcall: RemainingArgs() comes after all other arguments");
  }
  template <typename T>
  static constexpr void check_ret() {
    static_assert(internal::kIsRet<T>,
                  "farcall: Ret<T>() takes AnyBuffer, Buffer<dtype> or Buffer<dtype, rank>, "
                  "without Result<>");
    static_assert(!internal::has_kind<Ts...>(Kind::kRemainingRets),
                  "farcall: RemainingRets() comes after all other results");
  }

  constexpr Binding() = default;
  template <size_t n>
  constexpr explicit Binding(const std::string_view (&names)[n], std::string_view last = {}) {
    for (size_t i = 0; i != kNumNames; ++i) names_[i] = i + 1 < n ? names[i] : last;
  }

  std::string_view names_[kNumNames + 1] = {};  // the last element is unused
};

FARCALL_XLA_NAMESPACE_END
