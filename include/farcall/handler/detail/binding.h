// Maps a C++ function to its parameters (arguments, results, attributes, context items) and the
// options of FARCALL_DEFINE_HANDLER.
#pragma once

#include <farcall/handler/attribute.h>
#include <farcall/handler/buffer.h>
#include <farcall/handler/context.h>
#include <farcall/handler/detail/signature.h>
#include <farcall/handler/remaining.h>

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

namespace farcall::ffi {

// An attribute's name and the default value for calls that do not give it:
//   FARCALL_DEFINE_HANDLER(rms_norm, RmsNorm, ffi::attr("eps").default_to(1e-5f));
template <typename T>
struct AttrWithDefault {
  const char* name;
  T value;
};

struct AttrName {
  const char* name;
  template <typename T>
  constexpr AttrWithDefault<T> default_to(T value) const {
    return {name, value};
  }
};
constexpr AttrName attr(const char* name) { return {name}; }

// In place of names: the handler's only attribute parameter, a Dictionary or a struct, receives all
// attributes.
struct AllAttributes {};
inline constexpr AllAttributes all_attributes{};

namespace detail {

template <typename T>
using Bare = std::remove_cv_t<std::remove_reference_t<T>>;

// A tuple without <tuple>: one base class per element.
template <size_t I, typename T>
struct Leaf {
  T value;
};
template <typename Indices, typename... Ts>
struct PackOf;
template <size_t... Is, typename... Ts>
struct PackOf<std::index_sequence<Is...>, Ts...> : Leaf<Is, Ts>... {};
template <typename... Ts>
using Pack = PackOf<std::index_sequence_for<Ts...>, Ts...>;

template <size_t I, typename T>
FARCALL_FFI_INLINE constexpr T& at(Leaf<I, T>& leaf) {
  return leaf.value;
}
template <size_t I, typename T>
FARCALL_FFI_INLINE constexpr const T& at(const Leaf<I, T>& leaf) {
  return leaf.value;
}

template <typename... Ts>
struct TypeList {};

template <typename Fn>
struct FunctionTraits : FunctionTraits<decltype(&Fn::operator())> {};
template <typename R, typename... Ps>
struct FunctionTraits<R (*)(Ps...)> {
  using Return = R;
  using Params = TypeList<Ps...>;
};
template <typename R, typename... Ps>
struct FunctionTraits<R (*)(Ps...) noexcept> : FunctionTraits<R (*)(Ps...)> {};
template <typename C, typename R, typename... Ps>
struct FunctionTraits<R (C::*)(Ps...) const> : FunctionTraits<R (*)(Ps...)> {};
template <typename C, typename R, typename... Ps>
struct FunctionTraits<R (C::*)(Ps...) const noexcept> : FunctionTraits<R (*)(Ps...)> {};

// ---- kinds of parameters --------------------------------------------------------------------

// A type that matches no other specialization is an attribute.
template <typename T, typename = void>
struct Param {
  static constexpr ParamKind kKind = ParamKind::kAttribute;
  static constexpr bool kIsBindable = kIsDecodable<T>;
  static constexpr const TypeDesc* type() { return attr_type<T>(); }
  using Stored = T;
};

template <typename T, ParamKind kind>
struct BufferParam {
  static constexpr ParamKind kKind = kind;
  static constexpr bool kIsBindable = true;
  static constexpr const TypeDesc* type() { return &BufferType<T>::kType; }
  using BufferClass = T;
  using Stored = const FARCALL_FFI_Buffer*;
};
template <>
struct Param<AnyBuffer> : BufferParam<AnyBuffer, ParamKind::kArgument> {};
template <DataType dtype, size_t rank>
struct Param<Buffer<dtype, rank>> : BufferParam<Buffer<dtype, rank>, ParamKind::kArgument> {};
template <typename T>
struct Param<Result<T>> : BufferParam<T, ParamKind::kResult> {};

template <ParamKind kind>
struct RemainingParam {
  static constexpr ParamKind kKind = kind;
  static constexpr bool kIsBindable = true;
  static constexpr const TypeDesc* type() { return nullptr; }
  struct Stored {};
};
template <>
struct Param<RemainingArgs> : RemainingParam<ParamKind::kRemainingArgs> {};
template <>
struct Param<RemainingRets> : RemainingParam<ParamKind::kRemainingRets> {};

template <typename T>
struct Param<T, std::void_t<decltype(CtxDecoding<T>::kName)>> {
  static constexpr ParamKind kKind = ParamKind::kContext;
  static constexpr bool kIsBindable = true;
  static constexpr const TypeDesc* type() { return nullptr; }
  using Stored = std::optional<T>;
};

template <typename T>
struct Param<std::optional<T>> : Param<T> {
  using Stored = std::conditional_t<Param<T>::kKind == ParamKind::kAttribute, std::optional<T>,
                                    typename Param<T>::Stored>;
};

// On failure, the compiler's note shows the parameter's type.
template <typename T>
struct CheckParameter {
  static constexpr bool kOk = Param<Bare<T>>::kIsBindable;
  static_assert(
      kOk,
      "farcall: a handler cannot take a parameter of this type. It is not a buffer, result "
      "or context item, and cannot be decoded from an attribute: see FARCALL_ATTR_STRUCT, "
      "FARCALL_ATTR_ENUM and AttrDecoding");
};
template <typename T>
struct CheckParameter<T&> {
  static constexpr bool kOk = std::is_const_v<T> && CheckParameter<T>::kOk;
  static_assert(std::is_const_v<T>,
                "farcall: a handler takes its parameters by value or by const reference");
};

template <size_t names, size_t attribute_parameters>
struct CheckNames {
  static constexpr bool kOk = names == attribute_parameters;
  static_assert(
      kOk,
      "farcall: FARCALL_DEFINE_HANDLER needs one name for each attribute parameter of the "
      "function, in the order of the parameters");
};

// On failure, the compiler's note shows the attribute's name.
template <char... letters>
struct AttributeNamed;

template <typename Name, typename T, typename Default, bool fits>
struct CheckDefault {
  static constexpr bool kOk = fits;
  static_assert(kOk,
                "farcall: default_to() got a value that the attribute's parameter cannot hold: "
                "another type, a fraction for an integer, or a number out of range. The name, the "
                "parameter's type and the value's type are the arguments of CheckDefault");
};

template <typename T, typename Default>
constexpr bool default_fits(const Default& value) {
  if constexpr (std::is_arithmetic_v<T> && std::is_arithmetic_v<Default>) {
    if constexpr (std::is_integral_v<T> && std::is_floating_point_v<Default>) {
      return false;
    } else if constexpr (std::is_integral_v<T> && std::is_integral_v<Default>) {
      const T converted = static_cast<T>(value);
      return static_cast<Default>(converted) == value && (converted < T{}) == (value < Default{});
    } else {
      return true;
    }
  } else {
    return std::is_constructible_v<T, Default>;
  }
}

// ---- options of the macro -------------------------------------------------------------------

template <typename Option>
struct OptionTraits {
  static constexpr bool kIsName = false;
  static constexpr bool kIsKnown = std::is_same_v<Option, ExecutionStage> ||
                                   std::is_same_v<Option, Traits> ||
                                   std::is_same_v<Option, AllAttributes>;
};
template <>
struct OptionTraits<const char*> {
  static constexpr bool kIsName = true;
  static constexpr bool kIsKnown = true;
  static constexpr bool kHasDefault = false;
  static constexpr const char* name(const char* option) { return option; }
};
template <>
struct OptionTraits<AttrName> : OptionTraits<const char*> {
  static constexpr const char* name(const AttrName& option) { return option.name; }
};
template <typename T>
struct OptionTraits<AttrWithDefault<T>> : OptionTraits<const char*> {
  static constexpr bool kHasDefault = true;
  static constexpr const char* name(const AttrWithDefault<T>& option) { return option.name; }
};

template <typename Fn, typename... Options>
struct Spec {
  using Function = Fn;
  static_assert((OptionTraits<Options>::kIsKnown && ...),
                "farcall: after the function, FARCALL_DEFINE_HANDLER takes attribute names, "
                "ffi::attr(...), ffi::all_attributes, a stage and traits");

  static constexpr size_t kNumNames = (size_t{0} + ... + (OptionTraits<Options>::kIsName ? 1 : 0));
  static constexpr bool kTakesAll = (std::is_same_v<Options, AllAttributes> || ...);

  // The index of the option that names attribute parameter `number`.
  static constexpr size_t option_of(size_t number) {
    constexpr bool is_name[] = {OptionTraits<Options>::kIsName..., false};
    for (size_t option = 0; option != sizeof...(Options); ++option) {
      if (is_name[option] && number-- == 0) return option;
    }
    return sizeof...(Options);
  }

  Fn function;
  Pack<Options...> options;
};

// The type of one option, for decltype.
template <size_t I, typename T>
T leaf_type(const Leaf<I, T>&);
template <size_t I, typename Fn, typename... Options>
auto option_type(const Spec<Fn, Options...>& spec) -> decltype(leaf_type<I>(spec.options));

constexpr void take_option(ExecutionStage option, ExecutionStage& stage, uint32_t&) {
  stage = option;
}
constexpr void take_option(Traits option, ExecutionStage&, uint32_t& traits) {
  traits |= static_cast<uint32_t>(option);
}
template <typename Option>
constexpr void take_option(const Option&, ExecutionStage&, uint32_t&) {}

// Compilers show the template parameter's name if the function is overloaded or a template.
template <
    typename farcall_the_handler_is_an_overloaded_function_or_a_template__choose_one_by_static_cast,
    typename... Options>
constexpr auto make_spec(
    farcall_the_handler_is_an_overloaded_function_or_a_template__choose_one_by_static_cast function,
    Options... options) {
  return Spec<decltype(function), Options...>{function, {{options}...}};
}

}  // namespace detail
}  // namespace farcall::ffi
