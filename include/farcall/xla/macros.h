// The macros that define, declare and register handlers and types.
#pragma once

#include <cstdio>
#include <cstdlib>

#include <farcall/xla/handler.h>

#define FARCALL_XLA_JOIN_(a, b) a##b
#define FARCALL_XLA_JOIN(a, b) FARCALL_XLA_JOIN_(a, b)

// XLA_FFI_DEFINE_HANDLER(name, function[, binding[, traits]]): a constant `name`, the handler as a
// function pointer, at any scope. Without a binding, it is derived from the function's type.
#define XLA_FFI_DEFINE_HANDLER(fn, ...)                                                            \
  static constexpr XLA_FFI_Handler* fn = +[](XLA_FFI_CallFrame* farcall_frame) -> XLA_FFI_Error* { \
    static const auto farcall_handler = ::xla::ffi::internal::bind(#fn, __VA_ARGS__);              \
    return farcall_handler(farcall_frame);                                                         \
  }
#define XLA_FFI_DEFINE_HANDLER_AUTO(fn, impl) XLA_FFI_DEFINE_HANDLER(fn, impl)
#define XLA_FFI_DEFINE_HANDLER_EXPLICIT(fn, impl, binding) XLA_FFI_DEFINE_HANDLER(fn, impl, binding)
#define XLA_FFI_DEFINE_HANDLER_EXPLICIT_WITH_TRAITS(fn, impl, binding, traits) \
  XLA_FFI_DEFINE_HANDLER(fn, impl, binding, traits)

// The same as a C function at namespace scope, which a library exports even if it is compiled with
// -fvisibility=hidden, with its signature.
#define XLA_FFI_DEFINE_HANDLER_SYMBOL(fn, ...)                                                   \
  extern "C" FARCALL_FFI_EXPORT XLA_FFI_Error* fn(XLA_FFI_CallFrame* farcall_frame) {            \
    static const auto farcall_handler = ::xla::ffi::internal::bind(#fn, __VA_ARGS__);            \
    return farcall_handler(farcall_frame);                                                       \
  }                                                                                              \
  extern "C" {                                                                                   \
  FARCALL_FFI_EXPORT extern const ::farcall::ffi::HandlerDesc FARCALL_XLA_JOIN(farcall_handler_, \
                                                                               fn);              \
  const ::farcall::ffi::HandlerDesc FARCALL_XLA_JOIN(farcall_handler_, fn) =                     \
      ::xla::ffi::internal::describe(fn, ::xla::ffi::internal::bind(#fn, __VA_ARGS__));          \
  }                                                                                              \
  static_assert(true, "")

#define XLA_FFI_DECLARE_HANDLER_SYMBOL(fn) \
  extern "C" XLA_FFI_Error* fn(XLA_FFI_CallFrame* call_frame)
#define XLA_FFI_DECLARE_TYPE_ID_SYMBOL(type_id_fn) extern "C" XLA_FFI_TypeId* type_id_fn()
#define XLA_FFI_DECLARE_TYPE_INFO_SYMBOL(type_info_fn) \
  extern "C" const XLA_FFI_TypeInfo* type_info_fn()

// Registration with a runtime's function table when the library is loaded.
#define XLA_FFI_REGISTER_HANDLER(API, NAME, PLATFORM, ...)                               \
  [[maybe_unused]] static const XLA_FFI_Error* FARCALL_XLA_JOIN(farcall_xla_registered_, \
                                                                __COUNTER__) = [] {      \
    return ::xla::ffi::Ffi::RegisterStaticHandler(API, NAME, PLATFORM, __VA_ARGS__);     \
  }()
#define XLA_FFI_REGISTER_TYPE(API, NAME, TYPE_ID, TYPE_INFO)                                       \
  [[maybe_unused]] static const bool FARCALL_XLA_JOIN(farcall_xla_registered_, __COUNTER__) = [] { \
    const XLA_FFI_Api* farcall_api = (API);                                                        \
    XLA_FFI_Error* farcall_error =                                                                 \
        ::xla::ffi::Ffi::RegisterTypeId(farcall_api, NAME, TYPE_ID, TYPE_INFO);                    \
    if (farcall_error == nullptr) return true;                                                     \
    ::std::fprintf(stderr, "XLA_FFI_REGISTER_TYPE: %s\n",                                          \
                   ::xla::ffi::internal::GetErrorMessage(farcall_api, farcall_error));             \
    ::xla::ffi::internal::DestroyError(farcall_api, farcall_error);                                \
    ::std::abort();                                                                                \
  }()

// A struct as an attribute: a dictionary of its members, listed in the order of the struct.
//   XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(Range, xla::ffi::StructMember<int64_t>("low"),
//                                         xla::ffi::StructMember<int64_t>("high"));
#define XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(T, ...)                             \
  namespace xla::ffi {                                                            \
  template <>                                                                     \
  struct AttrsBinding<T> {                                                        \
    using Attrs = T;                                                              \
  };                                                                              \
  template <>                                                                     \
  struct AttrDecoding<T> : internal::StructAttr<T, AttrDecoding<T>> {             \
    static constexpr auto members() { return internal::members_of(__VA_ARGS__); } \
    static constexpr const char* name() { return #T; }                            \
  };                                                                              \
  } /* namespace xla::ffi */                                                      \
  static_assert(::std::is_class_v<T>, "farcall: STRUCT_ATTR_DECODING takes a struct")

// An enum as an attribute: a scalar of its underlying type.
#define XLA_FFI_REGISTER_ENUM_ATTR_DECODING(T)          \
  namespace xla::ffi {                                  \
  template <>                                           \
  struct AttrDecoding<T> : internal::FarcallAttr<T> {}; \
  } /* namespace xla::ffi */                            \
  static_assert(::std::is_enum_v<T>, "farcall: ENUM_ATTR_DECODING takes an enum")
