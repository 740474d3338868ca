// Maps dtypes to the C++ types of their elements.
#pragma once

#include <complex>
#include <cstdint>
#include <cstring>

#include <farcall/core/dtype.h>
#include <farcall/core/error.h>
#include <farcall/handler/small_float.h>

namespace farcall::detail {

[[noreturn]] inline void no_elements(DType dtype) {
  invalid_argument(std::string(dtype_name(dtype)) + " has no elements with a value.");
}

template <class T>
T load(const void* element) {
  T value;
  std::memcpy(static_cast<void*>(&value), element, sizeof(T));
  return value;
}
template <class T>
void store(T value, void* element) {
  std::memcpy(element, &value, sizeof(T));
}

// Calls visit with an object of the C++ type of a float of eight bits or fewer.
template <class Visit>
auto visit_small_float(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kFloat8E5M2:
      return visit(ffi::float8_e5m2());
    case DType::kFloat8E4M3:
      return visit(ffi::float8_e4m3());
    case DType::kFloat8E3M4:
      return visit(ffi::float8_e3m4());
    case DType::kFloat8E4M3FN:
      return visit(ffi::float8_e4m3fn());
    case DType::kFloat8E4M3B11FNUZ:
      return visit(ffi::float8_e4m3b11fnuz());
    case DType::kFloat8E5M2FNUZ:
      return visit(ffi::float8_e5m2fnuz());
    case DType::kFloat8E4M3FNUZ:
      return visit(ffi::float8_e4m3fnuz());
    case DType::kFloat8E8M0FNU:
      return visit(ffi::float8_e8m0fnu());
    case DType::kFloat4E2M1FN:
      return visit(ffi::float4_e2m1fn());
    default:
      no_elements(dtype);
  }
}

// Calls visit with an object of the C++ type of the dtype's elements; integers below eight bits are
// those of the byte that holds them.
template <class Visit>
auto visit_dtype(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kBool:
      return visit(bool());
    case DType::kInt1:
    case DType::kInt2:
    case DType::kInt4:
    case DType::kInt8:
      return visit(int8_t());
    case DType::kInt16:
      return visit(int16_t());
    case DType::kInt32:
      return visit(int32_t());
    case DType::kInt64:
      return visit(int64_t());
    case DType::kUInt1:
    case DType::kUInt2:
    case DType::kUInt4:
    case DType::kUInt8:
      return visit(uint8_t());
    case DType::kUInt16:
      return visit(uint16_t());
    case DType::kUInt32:
      return visit(uint32_t());
    case DType::kUInt64:
      return visit(uint64_t());
    case DType::kFloat16:
      return visit(ffi::float16());
    case DType::kBFloat16:
      return visit(ffi::bfloat16());
    case DType::kFloat32:
      return visit(float());
    case DType::kFloat64:
      return visit(double());
    case DType::kComplex64:
      return visit(std::complex<float>());
    case DType::kComplex128:
      return visit(std::complex<double>());
    default:
      return visit_small_float(dtype, visit);
  }
}

template <class T>
constexpr bool kIsComplex = requires(T x) {
  x.imag();
};

}  // namespace farcall::detail
