// Element types: one enumeration, and one table of their names and codes.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include <farcall/core/export.h>

namespace farcall {

// Numbered as in the binary interface (FARCALL_FFI_DataType); dtypes that the interface lacks begin
// at 64.
enum class DType : uint8_t {
  kInvalid = 0,
  kBool = 1,
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kUInt8 = 6,
  kUInt16 = 7,
  kUInt32 = 8,
  kUInt64 = 9,
  kFloat16 = 10,
  kFloat32 = 11,
  kFloat64 = 12,
  kComplex64 = 15,
  kBFloat16 = 16,
  kToken = 17,
  kComplex128 = 18,
  kFloat8E5M2 = 19,
  kFloat8E4M3FN = 20,
  kInt4 = 21,
  kUInt4 = 22,
  kFloat8E4M3B11FNUZ = 23,
  kFloat8E5M2FNUZ = 24,
  kFloat8E4M3FNUZ = 25,
  kInt2 = 26,
  kUInt2 = 27,
  kFloat8E4M3 = 28,
  kFloat8E3M4 = 29,
  kInt1 = 30,
  kUInt1 = 31,
  kFloat4E2M1FN = 32,
  kFloat8E8M0FNU = 33,
  kThreefryKey = 64,  // a random key: two words of threefry2x32; not a number
};

inline constexpr int kNumDTypes = 65;  // one past the largest code

enum class DTypeKind : uint8_t {
  kInvalid,
  kBool,
  kSigned,
  kUnsigned,
  kFloat,
  kComplex,
  kToken,
  kKey
};

struct DTypeInfo {
  DType dtype;
  DTypeKind kind;
  uint8_t bits;                 // of one value
  uint8_t byte_width;           // of one element in memory; types below eight bits take a byte each
  std::string_view name;        // numpy's or ml_dtypes' name: "float32"
  std::string_view short_name;  // in programs and messages: "f32"
  std::string_view stablehlo;   // element type in StableHLO text
  uint8_t dlpack_code;          // DLDataTypeCode; 255 where DLPack has none
};

// The row of `dtype`; the row of kInvalid if the value is not a dtype.
FARCALL_API const DTypeInfo& dtype_info(DType dtype);
// The rows of the interface's dtypes, ordered by code.
FARCALL_API std::span<const DTypeInfo> all_dtypes();

inline std::string_view dtype_name(DType dtype) { return dtype_info(dtype).name; }
inline std::string_view dtype_short_name(DType dtype) { return dtype_info(dtype).short_name; }
inline size_t byte_width(DType dtype) { return dtype_info(dtype).byte_width; }

// Finds a dtype by its long or short name; nullopt if there is none.
FARCALL_API std::optional<DType> parse_dtype(std::string_view name);

FARCALL_API bool is_integer(DType dtype);  // signed or unsigned, not bool
FARCALL_API bool is_floating(DType dtype);
FARCALL_API bool is_complex(DType dtype);
FARCALL_API bool is_inexact(DType dtype);  // floating or complex
FARCALL_API bool is_number(DType dtype);   // integer, floating or complex
FARCALL_API bool is_ordered(DType dtype);  // bool, integer or floating
FARCALL_API bool is_key(DType dtype);      // random keys

// The dtype of the parts of a complex dtype, and the complex dtype with such parts; other dtypes
// are returned unchanged.
FARCALL_API DType real_dtype(DType dtype);
FARCALL_API DType complex_dtype(DType dtype);

namespace detail {

// The dtype of a C++ scalar type; kInvalid if it has none.
template <class T>
constexpr DType scalar_dtype() {
  if constexpr (std::is_same_v<T, bool>) {
    return DType::kBool;
  } else if constexpr (std::is_same_v<T, float>) {
    return DType::kFloat32;
  } else if constexpr (std::is_same_v<T, double>) {
    return DType::kFloat64;
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return DType::kComplex64;
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    return DType::kComplex128;
  } else if constexpr (std::is_integral_v<T>) {
    constexpr bool kIsSigned = std::is_signed_v<T>;
    return sizeof(T) == 1   ? (kIsSigned ? DType::kInt8 : DType::kUInt8)
           : sizeof(T) == 2 ? (kIsSigned ? DType::kInt16 : DType::kUInt16)
           : sizeof(T) == 4 ? (kIsSigned ? DType::kInt32 : DType::kUInt32)
                            : (kIsSigned ? DType::kInt64 : DType::kUInt64);
  } else {
    return DType::kInvalid;
  }
}

}  // namespace detail

}  // namespace farcall
