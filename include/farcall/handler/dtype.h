// Data types: the enumeration, widths, names, and the C++ type of one element.
//
// For elements narrower than a byte (S1 S2 S4, U1 U2 U4, F4E2M1FN) the interface does not define
// the buffer layout. ByteWidth, and so size_bytes(), counts one byte per element, with the value in
// the low bits. But JAX packs them on the CPU: two 4-bit or four 2-bit elements per byte, the first
// one in the lowest bits. Such a buffer is smaller than size_bytes(); read it with BitWidth.
#pragma once

#include <farcall/handler/complex.h>
#include <farcall/handler/config.h>
#include <farcall/handler/small_float.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

// All dtypes: name, bytes of an element, C++ type of an element, name in messages.
#define FARCALL_FFI_FOR_EACH_DTYPE(X)                      \
  X(PRED, 1, bool, "pred")                                 \
  X(S1, 1, int8_t, "s1")                                   \
  X(S2, 1, int8_t, "s2")                                   \
  X(S4, 1, int8_t, "s4")                                   \
  X(S8, 1, int8_t, "s8")                                   \
  X(S16, 2, int16_t, "s16")                                \
  X(S32, 4, int32_t, "s32")                                \
  X(S64, 8, int64_t, "s64")                                \
  X(U1, 1, uint8_t, "u1")                                  \
  X(U2, 1, uint8_t, "u2")                                  \
  X(U4, 1, uint8_t, "u4")                                  \
  X(U8, 1, uint8_t, "u8")                                  \
  X(U16, 2, uint16_t, "u16")                               \
  X(U32, 4, uint32_t, "u32")                               \
  X(U64, 8, uint64_t, "u64")                               \
  X(F16, 2, float16, "f16")                                \
  X(F32, 4, float, "f32")                                  \
  X(F64, 8, double, "f64")                                 \
  X(BF16, 2, bfloat16, "bf16")                             \
  X(C64, 8, Complex<float>, "c64")                         \
  X(C128, 16, Complex<double>, "c128")                     \
  X(TOKEN, 0, void, "token")                               \
  X(F8E5M2, 1, float8_e5m2, "f8e5m2")                      \
  X(F8E4M3, 1, float8_e4m3, "f8e4m3")                      \
  X(F8E4M3FN, 1, float8_e4m3fn, "f8e4m3fn")                \
  X(F8E4M3B11FNUZ, 1, float8_e4m3b11fnuz, "f8e4m3b11fnuz") \
  X(F8E5M2FNUZ, 1, float8_e5m2fnuz, "f8e5m2fnuz")          \
  X(F8E4M3FNUZ, 1, float8_e4m3fnuz, "f8e4m3fnuz")          \
  X(F8E3M4, 1, float8_e3m4, "f8e3m4")                      \
  X(F4E2M1FN, 1, float4_e2m1fn, "f4e2m1fn")                \
  X(F8E8M0FNU, 1, float8_e8m0fnu, "f8e8m0fnu")

namespace farcall::ffi {

enum class DataType : uint8_t {
  INVALID = FARCALL_FFI_DataType_INVALID,
#define FARCALL_FFI_X(name, width, type, text) name = FARCALL_FFI_DataType_##name,
  FARCALL_FFI_FOR_EACH_DTYPE(FARCALL_FFI_X)
#undef FARCALL_FFI_X
};

#define FARCALL_FFI_X(name, width, type, text) inline constexpr DataType name = DataType::name;
FARCALL_FFI_FOR_EACH_DTYPE(FARCALL_FFI_X)
#undef FARCALL_FFI_X

// Bytes of one element; 0 for tokens and invalid dtypes.
constexpr size_t ByteWidth(DataType dtype) {
  switch (dtype) {
#define FARCALL_FFI_X(name, width, type, text) \
  case DataType::name:                         \
    return width;
    FARCALL_FFI_FOR_EACH_DTYPE(FARCALL_FFI_X)
#undef FARCALL_FFI_X
    default:
      return 0;
  }
}

// Bits of one element's value: BitWidth(S4) is 4, while ByteWidth(S4) is 1.
constexpr size_t BitWidth(DataType dtype) {
  switch (dtype) {
    case DataType::S1:
    case DataType::U1:
      return 1;
    case DataType::S2:
    case DataType::U2:
      return 2;
    case DataType::S4:
    case DataType::U4:
    case DataType::F4E2M1FN:
      return 4;
    default:
      return 8 * ByteWidth(dtype);
  }
}

namespace detail {

constexpr const char* dtype_name(DataType dtype) {
  switch (dtype) {
#define FARCALL_FFI_X(name, width, type, text) \
  case DataType::name:                         \
    return text;
    FARCALL_FFI_FOR_EACH_DTYPE(FARCALL_FFI_X)
#undef FARCALL_FFI_X
    default:
      return "invalid dtype";
  }
}

template <DataType dtype>
struct NativeTypeOf;
#define FARCALL_FFI_X(name, width, cpp_type, text) \
  template <>                                      \
  struct NativeTypeOf<DataType::name> {            \
    using type = cpp_type;                         \
  };
FARCALL_FFI_FOR_EACH_DTYPE(FARCALL_FFI_X)
#undef FARCALL_FFI_X

template <typename T>
constexpr DataType integer_dtype() {
  constexpr bool is_signed = std::is_signed_v<T> && !std::is_same_v<T, char>;
  return sizeof(T) == 1   ? (is_signed ? DataType::S8 : DataType::U8)
         : sizeof(T) == 2 ? (is_signed ? DataType::S16 : DataType::U16)
         : sizeof(T) == 4 ? (is_signed ? DataType::S32 : DataType::U32)
         : sizeof(T) == 8 ? (is_signed ? DataType::S64 : DataType::U64)
                          : DataType::INVALID;
}

// The dtype whose elements are a T; INVALID if there is none.
template <typename T>
inline constexpr DataType kDataTypeOf =
    std::is_same_v<typename RealOf<T>::type, float>    ? DataType::C64
    : std::is_same_v<typename RealOf<T>::type, double> ? DataType::C128
                                                       : DataType::INVALID;
#define FARCALL_FFI_SCALAR_DTYPE(type, dtype) \
  template <>                                 \
  inline constexpr DataType kDataTypeOf<type> = dtype
FARCALL_FFI_SCALAR_DTYPE(bool, DataType::PRED);
FARCALL_FFI_SCALAR_DTYPE(char, DataType::U8);
FARCALL_FFI_SCALAR_DTYPE(signed char, DataType::S8);
FARCALL_FFI_SCALAR_DTYPE(unsigned char, DataType::U8);
FARCALL_FFI_SCALAR_DTYPE(short, integer_dtype<short>());
FARCALL_FFI_SCALAR_DTYPE(unsigned short, integer_dtype<unsigned short>());
FARCALL_FFI_SCALAR_DTYPE(int, integer_dtype<int>());
FARCALL_FFI_SCALAR_DTYPE(unsigned, integer_dtype<unsigned>());
FARCALL_FFI_SCALAR_DTYPE(long, integer_dtype<long>());
FARCALL_FFI_SCALAR_DTYPE(unsigned long, integer_dtype<unsigned long>());
FARCALL_FFI_SCALAR_DTYPE(long long, integer_dtype<long long>());
FARCALL_FFI_SCALAR_DTYPE(unsigned long long, integer_dtype<unsigned long long>());
FARCALL_FFI_SCALAR_DTYPE(float, DataType::F32);
FARCALL_FFI_SCALAR_DTYPE(double, DataType::F64);
FARCALL_FFI_SCALAR_DTYPE(float16, DataType::F16);
FARCALL_FFI_SCALAR_DTYPE(bfloat16, DataType::BF16);
FARCALL_FFI_SCALAR_DTYPE(float8_e5m2, DataType::F8E5M2);
FARCALL_FFI_SCALAR_DTYPE(float8_e4m3, DataType::F8E4M3);
FARCALL_FFI_SCALAR_DTYPE(float8_e3m4, DataType::F8E3M4);
FARCALL_FFI_SCALAR_DTYPE(float8_e4m3fn, DataType::F8E4M3FN);
FARCALL_FFI_SCALAR_DTYPE(float8_e4m3b11fnuz, DataType::F8E4M3B11FNUZ);
FARCALL_FFI_SCALAR_DTYPE(float8_e5m2fnuz, DataType::F8E5M2FNUZ);
FARCALL_FFI_SCALAR_DTYPE(float8_e4m3fnuz, DataType::F8E4M3FNUZ);
FARCALL_FFI_SCALAR_DTYPE(float4_e2m1fn, DataType::F4E2M1FN);
FARCALL_FFI_SCALAR_DTYPE(float8_e8m0fnu, DataType::F8E8M0FNU);
#undef FARCALL_FFI_SCALAR_DTYPE

}  // namespace detail

// The C++ type of one element: float for F32, float16 for F16, Complex<float> for C64.
template <DataType dtype>
using NativeType = typename detail::NativeTypeOf<dtype>::type;

constexpr DataType ToComplex(DataType dtype) {
  return dtype == F32 ? C64 : dtype == F64 ? C128 : DataType::INVALID;
}
constexpr DataType ToReal(DataType dtype) {
  return dtype == C64 ? F32 : dtype == C128 ? F64 : dtype;
}
constexpr DataType ToImag(DataType dtype) { return ToReal(dtype); }

template <DataType dtype>
constexpr bool IsComplexType() {
  return dtype == C64 || dtype == C128;
}

}  // namespace farcall::ffi
