// Storage types for floats that C++ lacks: 16, 8 and 4 bits wide.
//
// They store bits and convert to and from float, rounding to nearest, ties to even; arithmetic uses
// float. The values agree with Python's ml_dtypes. Usable in device code.
#pragma once

#include <farcall/handler/config.h>

#include <cstdint>
#include <cstring>

namespace farcall::ffi {
namespace detail {

// The meaning of the largest exponent and of negative zero.
enum class FloatFlavor : uint8_t {
  kIeee,    // infinities and NaNs
  kFn,      // no infinity; NaN has all bits but the sign set; overflow gives NaN
  kFnuz,    // no infinity, no negative zero: its bits are the NaN; overflow gives NaN
  kFinite,  // neither infinity nor NaN: overflow saturates, NaN becomes negative zero
};

FARCALL_FFI_HOST_DEVICE inline uint32_t float_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

FARCALL_FFI_HOST_DEVICE inline float float_from_bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

FARCALL_FFI_HOST_DEVICE constexpr uint32_t shift_right_to_even(uint32_t value, int shift) {
  return (value + (1u << (shift - 1)) - 1 + ((value >> shift) & 1u)) >> shift;
}

template <typename Bits, int exponent_bits, int mantissa_bits, int bias, FloatFlavor flavor>
class SmallFloat {
  static constexpr int kDropped = 23 - mantissa_bits;
  static constexpr uint32_t kSign = 1u << (exponent_bits + mantissa_bits);
  static constexpr uint32_t kMantissa = (1u << mantissa_bits) - 1;
  static constexpr uint32_t kTopExponent = ((1u << exponent_bits) - 1) << mantissa_bits;
  static constexpr uint32_t kLargest = flavor == FloatFlavor::kIeee ? kTopExponent - 1
                                       : flavor == FloatFlavor::kFn ? kSign - 2
                                                                    : kSign - 1;
  static constexpr uint32_t kNan = flavor == FloatFlavor::kIeee
                                       ? kTopExponent | (1u << (mantissa_bits - 1))
                                   : flavor == FloatFlavor::kFn ? kSign - 1
                                                                : kSign;

 public:
  SmallFloat() = default;
  FARCALL_FFI_HOST_DEVICE SmallFloat(float value) : bits_(encode(float_bits(value))) {}
  FARCALL_FFI_HOST_DEVICE static constexpr SmallFloat from_bits(Bits bits) {
    SmallFloat result{};
    result.bits_ = bits;
    return result;
  }

  FARCALL_FFI_HOST_DEVICE constexpr Bits bits() const { return bits_; }
  FARCALL_FFI_HOST_DEVICE operator float() const { return decode(bits_); }

 private:
  FARCALL_FFI_HOST_DEVICE static bool is_nan(uint32_t bits) {
    if constexpr (flavor == FloatFlavor::kIeee) return (bits & ~kSign) > kTopExponent;
    if constexpr (flavor == FloatFlavor::kFn) return (bits & ~kSign) == kNan;
    if constexpr (flavor == FloatFlavor::kFnuz) return bits == kNan;
    return false;
  }

  FARCALL_FFI_HOST_DEVICE static float decode(uint32_t bits) {
    const uint32_t sign = (bits & kSign) ? 0x80000000u : 0u;
    const uint32_t magnitude = bits & (kSign - 1);
    if (is_nan(bits)) return float_from_bits(sign | 0x7fc00000u);
    if (flavor == FloatFlavor::kIeee && magnitude == kTopExponent) {
      return float_from_bits(sign | 0x7f800000u);
    }
    if constexpr (exponent_bits == 8) return float_from_bits(sign | (magnitude << kDropped));
    if (magnitude <= kMantissa) {
      // For all formats that reach this line, the unit of the subnormals is a normal float.
      const float unit = float_from_bits(uint32_t(127 + 1 - bias - mantissa_bits) << 23);
      const float value = static_cast<float>(magnitude) * unit;
      return sign ? -value : value;
    }
    return float_from_bits(sign | ((magnitude << kDropped) + (uint32_t(127 - bias) << 23)));
  }

  FARCALL_FFI_HOST_DEVICE static Bits encode(uint32_t value) {
    const uint32_t sign = (value & 0x80000000u) ? kSign : 0u;
    const uint32_t magnitude = value & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
      return Bits(flavor == FloatFlavor::kIeee || flavor == FloatFlavor::kFn ? sign | kNan : kNan);
    }
    uint32_t result = 0;
    const int exponent = static_cast<int>(magnitude >> 23) - 127;
    const int below_normal = (1 - bias) - exponent;
    if (exponent_bits == 8 || below_normal <= 0) {
      result = shift_right_to_even(magnitude - (uint32_t(127 - bias) << 23), kDropped);
    } else if (below_normal + kDropped < 25) {  // else below half of the smallest value
      const uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
      result = shift_right_to_even(mantissa, below_normal + kDropped);
    }
    if (result > kLargest) {
      if constexpr (flavor == FloatFlavor::kIeee) return Bits(sign | kTopExponent);
      if constexpr (flavor == FloatFlavor::kFn) return Bits(sign | kNan);
      if constexpr (flavor == FloatFlavor::kFnuz) return Bits(kNan);
      return Bits(sign | kLargest);
    }
    if (flavor == FloatFlavor::kFnuz && result == 0) return Bits{0};
    return Bits(sign | result);
  }

  Bits bits_;
};

// An unsigned power of two: eight bits of exponent; 0xff is NaN. Zero and negative numbers become
// NaN; ties round up. (ml_dtypes rounds all floats between 2^-127 and 2^-126 up; this type rounds
// to nearest.)
class PowerOfTwo {
 public:
  PowerOfTwo() = default;
  FARCALL_FFI_HOST_DEVICE PowerOfTwo(float value) : bits_(encode(float_bits(value))) {}
  FARCALL_FFI_HOST_DEVICE static constexpr PowerOfTwo from_bits(uint8_t bits) {
    PowerOfTwo result{};
    result.bits_ = bits;
    return result;
  }

  FARCALL_FFI_HOST_DEVICE constexpr uint8_t bits() const { return bits_; }
  FARCALL_FFI_HOST_DEVICE operator float() const {
    if (bits_ == 0xff) return float_from_bits(0x7fc00000u);
    return float_from_bits(bits_ == 0 ? 0x00400000u : uint32_t{bits_} << 23);
  }

 private:
  FARCALL_FFI_HOST_DEVICE static uint8_t encode(uint32_t value) {
    if (value == 0 || value >= 0x7f800000u) return 0xff;
    if (value < 0x00800000u) return value >= 0x00600000u ? 1 : 0;
    return static_cast<uint8_t>((value + 0x00400000u) >> 23);
  }

  uint8_t bits_;
};

}  // namespace detail

using float16 = detail::SmallFloat<uint16_t, 5, 10, 15, detail::FloatFlavor::kIeee>;
using bfloat16 = detail::SmallFloat<uint16_t, 8, 7, 127, detail::FloatFlavor::kIeee>;
using float8_e5m2 = detail::SmallFloat<uint8_t, 5, 2, 15, detail::FloatFlavor::kIeee>;
using float8_e4m3 = detail::SmallFloat<uint8_t, 4, 3, 7, detail::FloatFlavor::kIeee>;
using float8_e3m4 = detail::SmallFloat<uint8_t, 3, 4, 3, detail::FloatFlavor::kIeee>;
using float8_e4m3fn = detail::SmallFloat<uint8_t, 4, 3, 7, detail::FloatFlavor::kFn>;
using float8_e4m3b11fnuz = detail::SmallFloat<uint8_t, 4, 3, 11, detail::FloatFlavor::kFnuz>;
using float8_e5m2fnuz = detail::SmallFloat<uint8_t, 5, 2, 16, detail::FloatFlavor::kFnuz>;
using float8_e4m3fnuz = detail::SmallFloat<uint8_t, 4, 3, 8, detail::FloatFlavor::kFnuz>;
using float4_e2m1fn = detail::SmallFloat<uint8_t, 2, 1, 1, detail::FloatFlavor::kFinite>;
using float8_e8m0fnu = detail::PowerOfTwo;

}  // namespace farcall::ffi
