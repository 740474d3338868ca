// Dtypes, and the floats that C++ lacks: each value and each rounding compared with plain
// arithmetic.
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "frame.h"

namespace ffi = farcall::ffi;

namespace {

template <ffi::DataType dtype>
void check_dtype(int abi_number, size_t width, const char* name) {
  EXPECT_EQ(static_cast<int>(dtype), abi_number) << name;
  EXPECT_EQ(ffi::ByteWidth(dtype), width) << name;
  EXPECT_STREQ(ffi::detail::dtype_name(dtype), name);
  if constexpr (dtype != ffi::TOKEN) {
    EXPECT_EQ(sizeof(ffi::NativeType<dtype>), width) << name;
    EXPECT_EQ(ffi::ByteWidth(ffi::detail::kDataTypeOf<ffi::NativeType<dtype>>), width) << name;
  }
}

TEST(DType, WidthsNamesAndNativeTypesAgree) {
#define FARCALL_FFI_X(name, width, type, text) \
  check_dtype<ffi::name>(FARCALL_FFI_DataType_##name, width, text);
  FARCALL_FFI_FOR_EACH_DTYPE(FARCALL_FFI_X)
#undef FARCALL_FFI_X
  EXPECT_EQ(ffi::ByteWidth(static_cast<ffi::DataType>(77)), 0u);
  EXPECT_EQ(ffi::BitWidth(ffi::S4), 4u);
  EXPECT_EQ(ffi::BitWidth(ffi::F64), 64u);
  EXPECT_EQ(ffi::ToComplex(ffi::F32), ffi::C64);
  EXPECT_EQ(ffi::ToReal(ffi::C128), ffi::F64);
  EXPECT_TRUE(ffi::IsComplexType<ffi::C64>());
}

TEST(DType, EveryIntegerTypeOfTheLanguageHasOne) {
  EXPECT_EQ(ffi::detail::kDataTypeOf<long>, ffi::detail::kDataTypeOf<int64_t>);
  EXPECT_EQ(ffi::detail::kDataTypeOf<long long>, ffi::S64);
  EXPECT_EQ(ffi::detail::kDataTypeOf<unsigned long long>, ffi::U64);
  EXPECT_EQ(ffi::detail::kDataTypeOf<std::complex<double>>, ffi::C128);
  EXPECT_EQ(ffi::detail::kDataTypeOf<std::string>, ffi::DataType::INVALID);
}

TEST(Complex, ConvertsFromAndToTheStandardOne) {
  ffi::Complex<float> mine = std::complex<float>(1, 2);
  std::complex<float> theirs = mine * mine + mine - ffi::Complex<float>(1);
  EXPECT_EQ(theirs, std::complex<float>(-3, 6));
  EXPECT_EQ(mine, ffi::Complex<float>(1, 2));
  EXPECT_NE(mine, ffi::Complex<float>(1));
}

// The meaning of a format's bits, computed with ldexp: the reference for all tests below.
struct Format {
  const char* name;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  char flavor;  // i: IEEE, f: all ones is NaN, u: negative zero is NaN, n: numbers only
};

double meaning(const Format& format, uint32_t bits) {
  const int width = format.exponent_bits + format.mantissa_bits;
  const uint32_t top = (1u << format.exponent_bits) - 1;
  const bool negative = (bits >> width) & 1;
  const uint32_t exponent = (bits >> format.mantissa_bits) & top;
  const uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (format.flavor == 'i' && exponent == top) {
    if (mantissa != 0) return nan;
    return negative ? -INFINITY : INFINITY;
  }
  if (format.flavor == 'f' && (bits & ((1u << width) - 1)) == (1u << width) - 1) return nan;
  if (format.flavor == 'u' && bits == 1u << width) return nan;
  double value = exponent == 0
                     ? std::ldexp(mantissa, 1 - format.bias - format.mantissa_bits)
                     : std::ldexp(mantissa + (1u << format.mantissa_bits),
                                  static_cast<int>(exponent) - format.bias - format.mantissa_bits);
  return negative ? -value : value;
}

float bits_to_float(uint32_t bits) { return ffi::detail::float_from_bits(bits); }

template <typename T>
std::string show(float value) {
  return std::to_string(ffi::detail::float_bits(value)) + " -> " +
         std::to_string(static_cast<uint32_t>(T(value).bits()));
}

// All values decode correctly and survive conversion from float. Rounding is to nearest, ties to
// even. Overflow gives what the flavor says.
template <typename T>
void check(const Format& format) {
  SCOPED_TRACE(format.name);
  const int width = format.exponent_bits + format.mantissa_bits;
  const uint32_t sign = 1u << width;
  using Bits = decltype(T().bits());
  std::vector<uint32_t> finite;  // the non-negative ones, in ascending order
  for (uint32_t bits = 0; bits < 2 * sign; ++bits) {
    const double wanted = meaning(format, bits);
    const float got = T::from_bits(static_cast<Bits>(bits));
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(got)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(T(got)))) << bits;
      continue;
    }
    ASSERT_EQ(got, wanted) << bits;
    ASSERT_EQ(std::signbit(got), std::signbit(wanted)) << bits;
    ASSERT_EQ(T(got).bits(), bits);
    if (bits < sign && std::isfinite(wanted)) finite.push_back(bits);
  }

  const bool keeps_negative_zero = format.flavor != 'u';
  for (size_t i = 0; i + 1 < finite.size(); ++i) {
    const double low = meaning(format, finite[i]);
    const double high = meaning(format, finite[i + 1]);
    const auto middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(middle, (low + high) / 2) << "the middle is a float";
    const uint32_t even = finite[i] % 2 == 0 ? finite[i] : finite[i + 1];
    const float below = std::nextafter(middle, -INFINITY), above = std::nextafter(middle, INFINITY);
    ASSERT_EQ(T(middle).bits(), even) << show<T>(middle);
    ASSERT_EQ(T(below).bits(), finite[i]) << show<T>(below);
    ASSERT_EQ(T(above).bits(), finite[i + 1]) << show<T>(above);
    const uint32_t negative = even == 0 && !keeps_negative_zero ? 0 : even | sign;
    ASSERT_EQ(T(-middle).bits(), negative) << show<T>(-middle);
  }

  const double largest = meaning(format, finite.back());
  const double step = largest - meaning(format, finite[finite.size() - 2]);
  const auto limit = static_cast<float>(largest + step / 2);
  for (float sign_of : {1.0f, -1.0f}) {
    EXPECT_EQ(float(T(sign_of * std::nextafter(limit, 0.0f))), sign_of * largest);
    for (float value : {std::nextafter(limit, INFINITY), 3e38f, INFINITY}) {
      const float got = T(sign_of * value);
      if (format.flavor == 'i') {
        EXPECT_EQ(got, sign_of * INFINITY);
      } else if (format.flavor == 'n') {
        EXPECT_EQ(got, sign_of * largest);
      } else {
        EXPECT_TRUE(std::isnan(got));
      }
    }
  }
  EXPECT_EQ(T(bits_to_float(1)).bits(), 0u) << "the smallest float vanishes";
  if (format.flavor == 'n') {
    EXPECT_EQ(T(NAN).bits(), sign);
  }
}

TEST(SmallFloat, AgreesWithItsDefinitionOnEveryValueAndRounding) {
  check<ffi::float16>({"float16", 5, 10, 15, 'i'});
  check<ffi::float8_e5m2>({"float8_e5m2", 5, 2, 15, 'i'});
  check<ffi::float8_e4m3>({"float8_e4m3", 4, 3, 7, 'i'});
  check<ffi::float8_e3m4>({"float8_e3m4", 3, 4, 3, 'i'});
  check<ffi::float8_e4m3fn>({"float8_e4m3fn", 4, 3, 7, 'f'});
  check<ffi::float8_e4m3b11fnuz>({"float8_e4m3b11fnuz", 4, 3, 11, 'u'});
  check<ffi::float8_e5m2fnuz>({"float8_e5m2fnuz", 5, 2, 16, 'u'});
  check<ffi::float8_e4m3fnuz>({"float8_e4m3fnuz", 4, 3, 8, 'u'});
  check<ffi::float4_e2m1fn>({"float4_e2m1fn", 2, 1, 1, 'n'});
}

// bfloat16 is the upper half of a float, also for subnormals. Rounding to nearest, ties to even, is
// checked on the bits.
TEST(SmallFloat, BrainFloatIsTheUpperHalfOfAFloat) {
  for (uint32_t upper = 0; upper <= 0xffff; ++upper) {
    const float exact = bits_to_float(upper << 16);
    const float got = ffi::bfloat16::from_bits(static_cast<uint16_t>(upper));
    if (std::isnan(exact)) {
      ASSERT_TRUE(std::isnan(got));
      ASSERT_TRUE(std::isnan(float(ffi::bfloat16(exact))));
      continue;
    }
    ASSERT_EQ(got, exact);
    ASSERT_EQ(ffi::bfloat16(exact).bits(), upper);
    if (std::isinf(exact)) continue;
    ASSERT_EQ(ffi::bfloat16(bits_to_float((upper << 16) + 0x7fff)).bits(), upper);
    ASSERT_EQ(ffi::bfloat16(bits_to_float((upper << 16) + 0x8000)).bits(), upper + upper % 2);
    ASSERT_EQ(ffi::bfloat16(bits_to_float((upper << 16) + 0x8001)).bits(), upper + 1);
  }
  EXPECT_TRUE(std::isnan(float(ffi::bfloat16(bits_to_float(0x7f800001)))));
}

TEST(SmallFloat, PowersOfTwoRoundTheirExponent) {
  for (uint32_t bits = 0; bits < 255; ++bits) {
    const auto exact = static_cast<float>(std::ldexp(1.0, static_cast<int>(bits) - 127));
    ASSERT_EQ(float(ffi::float8_e8m0fnu::from_bits(static_cast<uint8_t>(bits))), exact);
    ASSERT_EQ(ffi::float8_e8m0fnu(exact).bits(), bits);
    if (bits == 254) continue;
    const float middle = exact * 1.5f;
    ASSERT_EQ(ffi::float8_e8m0fnu(std::nextafter(middle, 0.0f)).bits(), bits);
    ASSERT_EQ(ffi::float8_e8m0fnu(middle).bits(), bits + 1);
  }
  for (float value : {0.0f, -0.0f, -1.0f, NAN, INFINITY, -INFINITY, 3.2e38f}) {
    EXPECT_EQ(ffi::float8_e8m0fnu(value).bits(), 0xff) << value;
  }
  EXPECT_EQ(ffi::float8_e8m0fnu(bits_to_float(1)).bits(), 0) << "the smallest is not zero";
}

}  // namespace
