// Data types, stages, traits and spans with the names of XLA's header, and their stream output.
#pragma once

#include <farcall/handler/detail/signature.h>
#include <farcall/handler/dtype.h>
#include <farcall/handler/span.h>
#include <farcall/xla/casts.h>
#include <farcall/xla/standard.h>

FARCALL_XLA_NAMESPACE

using ::farcall::ffi::ByteWidth;
using ::farcall::ffi::DataType;
using ::farcall::ffi::ExecutionStage;
using ::farcall::ffi::IsComplexType;
using ::farcall::ffi::kDynamicRank;
using ::farcall::ffi::Span;
using ::farcall::ffi::ToComplex;
using ::farcall::ffi::ToImag;
using ::farcall::ffi::ToReal;
using ::farcall::ffi::Traits;
#define FARCALL_FFI_X(name, width, type, text) using ::farcall::ffi::name;
FARCALL_FFI_FOR_EACH_DTYPE(FARCALL_FFI_X)
#undef FARCALL_FFI_X

template <size_t rank, size_t... ranks>
constexpr bool IsDynamicRank() {
  return rank == kDynamicRank || ((ranks == kDynamicRank) || ...);
}

namespace internal {

// Like farcall's NativeType, but with std::complex for complex numbers and unsigned integers for
// the bits of small floats.
template <DataType dtype>
struct NativeTypeOf {
  using Ours = ::farcall::ffi::NativeType<dtype>;
  template <typename T, bool is_class, size_t width>
  struct Bits {
    using type = T;
  };
  template <typename T>
  struct Bits<T, true, 1> {
    using type = uint8_t;
  };
  template <typename T>
  struct Bits<T, true, 2> {
    using type = uint16_t;
  };
  using type = typename Bits<Ours, std::is_class_v<Ours>, ByteWidth(dtype)>::type;
};
template <>
struct NativeTypeOf<DataType::C64> {
  using type = std::complex<float>;
};
template <>
struct NativeTypeOf<DataType::C128> {
  using type = std::complex<double>;
};

// The dtype's name in streams, in capitals.
constexpr const char* dtype_text(DataType dtype) {
  switch (dtype) {
#define FARCALL_FFI_X(name, width, type, text) \
  case DataType::name:                         \
    return #name;
    FARCALL_FFI_FOR_EACH_DTYPE(FARCALL_FFI_X)
#undef FARCALL_FFI_X
    default:
      return "INVALID";
  }
}

constexpr const char* attr_type_text(XLA_FFI_AttrType type) {
  return type == XLA_FFI_AttrType_ARRAY        ? "array"
         : type == XLA_FFI_AttrType_DICTIONARY ? "dictionary"
         : type == XLA_FFI_AttrType_SCALAR     ? "scalar"
         : type == XLA_FFI_AttrType_STRING     ? "string"
                                               : "unknown kind";
}

constexpr const char* stage_text(XLA_FFI_ExecutionStage stage) {
  constexpr const char* kNames[] = {"instantiate", "prepare", "initialize", "execute", "record"};
  return stage >= 0 && stage < 5 ? kNames[stage] : "unknown stage";
}

}  // namespace internal

template <DataType dtype>
using NativeType = typename internal::NativeTypeOf<dtype>::type;

FARCALL_XLA_NAMESPACE_END

// Templates, because <ostream> may not be included. In the namespaces where argument-dependent
// lookup finds them.
namespace farcall::ffi {
template <typename CharTraits>
std::basic_ostream<char, CharTraits>& operator<<(std::basic_ostream<char, CharTraits>& stream,
                                                 DataType dtype) {
  return stream << ::xla::ffi::internal::dtype_text(dtype);
}
}  // namespace farcall::ffi

template <typename CharTraits>
std::basic_ostream<char, CharTraits>& operator<<(std::basic_ostream<char, CharTraits>& stream,
                                                 XLA_FFI_DataType dtype) {
  return stream << static_cast<::xla::ffi::DataType>(dtype);
}
template <typename CharTraits>
std::basic_ostream<char, CharTraits>& operator<<(std::basic_ostream<char, CharTraits>& stream,
                                                 XLA_FFI_AttrType type) {
  return stream << ::xla::ffi::internal::attr_type_text(type);
}
template <typename CharTraits>
std::basic_ostream<char, CharTraits>& operator<<(std::basic_ostream<char, CharTraits>& stream,
                                                 XLA_FFI_ExecutionStage stage) {
  return stream << ::xla::ffi::internal::stage_text(stage);
}
template <typename CharTraits>
std::basic_ostream<char, CharTraits>& operator<<(std::basic_ostream<char, CharTraits>& stream,
                                                 XLA_FFI_ArgType type) {
  return stream << (type == XLA_FFI_ArgType_BUFFER ? "buffer" : "unknown kind");
}
template <typename CharTraits>
std::basic_ostream<char, CharTraits>& operator<<(std::basic_ostream<char, CharTraits>& stream,
                                                 XLA_FFI_RetType type) {
  return stream << (type == XLA_FFI_RetType_BUFFER ? "buffer" : "unknown kind");
}

FARCALL_FFI_INLINE bool operator==(const XLA_FFI_TypeId& a, const XLA_FFI_TypeId& b) {
  return a.type_id == b.type_id;
}
FARCALL_FFI_INLINE bool operator!=(const XLA_FFI_TypeId& a, const XLA_FFI_TypeId& b) {
  return !(a == b);
}
FARCALL_FFI_INLINE bool operator==(const XLA_FFI_Api_Version& a, const XLA_FFI_Api_Version& b) {
  return a.major_version == b.major_version && a.minor_version == b.minor_version;
}
FARCALL_FFI_INLINE bool operator!=(const XLA_FFI_Api_Version& a, const XLA_FFI_Api_Version& b) {
  return !(a == b);
}
FARCALL_FFI_INLINE bool operator==(const XLA_FFI_Handler_Bundle& a,
                                   const XLA_FFI_Handler_Bundle& b) {
  return a.instantiate == b.instantiate && a.prepare == b.prepare && a.initialize == b.initialize &&
         a.execute == b.execute;
}
FARCALL_FFI_INLINE bool operator!=(const XLA_FFI_Handler_Bundle& a,
                                   const XLA_FFI_Handler_Bundle& b) {
  return !(a == b);
}
