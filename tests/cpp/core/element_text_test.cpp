#include <farcall/core/element_text.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/handler/small_float.h>

namespace farcall {
namespace {

template <class T>
std::string format(DType dtype, T value) {
  return format_element(dtype, &value);
}
template <class T>
T parse(DType dtype, std::string_view text) {
  T value;
  parse_element(dtype, text, &value);
  return value;
}

TEST(ElementText, Bool) {
  EXPECT_EQ(format(DType::kBool, true), "True");
  EXPECT_EQ(format(DType::kBool, false), "False");
  EXPECT_TRUE(parse<bool>(DType::kBool, "True"));
  EXPECT_FALSE(parse<bool>(DType::kBool, "False"));
}

TEST(ElementText, Integers) {
  EXPECT_EQ(format(DType::kInt8, int8_t{-128}), "-128");
  EXPECT_EQ(format(DType::kInt4, int8_t{-8}), "-8");
  EXPECT_EQ(format(DType::kUInt64, ~uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(parse<int64_t>(DType::kInt64, "-9223372036854775808"),
            std::numeric_limits<int64_t>::min());
}

TEST(ElementText, FloatsShowThatTheyAreFloats) {
  EXPECT_EQ(format(DType::kFloat32, 1.0f), "1.0");
  EXPECT_EQ(format(DType::kFloat32, 0.1f), "0.1");
  EXPECT_EQ(format(DType::kFloat32, 1e30f), "1e+30");
  EXPECT_EQ(format(DType::kFloat64, -0.0), "-0.0");
  EXPECT_EQ(format(DType::kFloat64, std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(format(DType::kFloat32, std::numeric_limits<float>::quiet_NaN()), "nan");
  EXPECT_EQ(format(DType::kBFloat16, ffi::bfloat16(0.1f)), "0.1");
  EXPECT_EQ(format(DType::kFloat8E4M3FN, ffi::float8_e4m3fn(448.0f)), "448.0");
  EXPECT_EQ(format(DType::kFloat4E2M1FN, ffi::float4_e2m1fn(1.5f)), "1.5");
}

TEST(ElementText, Complex) {
  using C = std::complex<float>;
  EXPECT_EQ(format(DType::kComplex64, C(1, 2)), "(1.0+2.0j)");
  EXPECT_EQ(format(DType::kComplex64, C(-0.0f, -2e-30f)), "(-0.0-2e-30j)");
  EXPECT_EQ(format(DType::kComplex128, std::complex<double>(NAN, INFINITY)), "(nan+infj)");
  EXPECT_EQ(parse<C>(DType::kComplex64, "(-1e-05-2e+10j)"), C(-1e-5f, -2e10f));
  const C corner = parse<C>(DType::kComplex64, "(-0.0-infj)");
  EXPECT_TRUE(std::signbit(corner.real()));
  EXPECT_EQ(corner.imag(), -std::numeric_limits<float>::infinity());
}

// All values of up to sixteen bits survive: NaNs keep their sign, everything else keeps its bits.
TEST(ElementText, EveryNarrowValueComesBack) {
  for (const auto& info : all_dtypes()) {
    if (info.bits > 16 || info.bits == 0) continue;
    for (uint32_t bits = 0; bits < 1u << info.bits; ++bits) {
      uint16_t element = static_cast<uint16_t>(bits), result = 0;
      if (info.kind == DTypeKind::kBool && bits > 1) break;
      if (info.kind == DTypeKind::kSigned && info.bits < 8 && bits >> (info.bits - 1)) {
        element = static_cast<uint8_t>(bits | (0xffu << info.bits));  // sign-extended
      }
      const std::string text = format_element(info.dtype, &element);
      parse_element(info.dtype, text, &result);
      if (text.ends_with("nan")) {
        const uint32_t sign = 1u << (info.bits - 1);
        EXPECT_EQ(element & sign, result & sign) << info.name << " " << bits;
        EXPECT_TRUE(format_element(info.dtype, &result) == text) << info.name << " " << bits;
      } else {
        EXPECT_EQ(result, element) << info.name << " " << text;
      }
    }
  }
}

TEST(ElementText, WideValuesComeBack) {
  uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt64, DType::kUInt32}) {
      uint64_t element = 0, result = 0;
      std::memcpy(&element, &state, byte_width(dtype));
      const std::string text = format_element(dtype, &element);
      if (text.ends_with("nan")) continue;
      parse_element(dtype, text, &result);
      EXPECT_EQ(result, element) << text;
    }
  }
}

TEST(ElementText, RefusesWhatIsNoValue) {
  struct Case {
    DType dtype;
    std::string_view text;
  };
  for (const auto& [dtype, text] : std::initializer_list<Case>{
           {DType::kBool, "true"},
           {DType::kBool, "1"},
           {DType::kInt8, "128"},
           {DType::kInt4, "8"},
           {DType::kInt4, "-9"},
           {DType::kInt1, "1"},
           {DType::kUInt2, "4"},
           {DType::kUInt8, "-1"},
           {DType::kInt32, "1.5"},
           {DType::kInt32, ""},
           {DType::kFloat32, "1e40"},
           {DType::kFloat32, "1.0x"},
           {DType::kFloat16, "70000.0"},
           {DType::kFloat8E4M3FN, "inf"},
           {DType::kFloat8E4M3FN, "500.0"},
           {DType::kFloat4E2M1FN, "7.0"},
           {DType::kFloat4E2M1FN, "nan"},
           {DType::kFloat8E8M0FNU, "-1.0"},
           {DType::kComplex64, "1.0"},
           {DType::kComplex64, "(1.0j)"},
           {DType::kComplex64, "(1.0+-2.0j)"},
       }) {
    char element[16];
    try {
      parse_element(dtype, text, element);
      FAIL() << dtype_name(dtype) << " " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      EXPECT_EQ(error.message(), "\"" + std::string(text) + "\" is not a value of " +
                                     std::string(dtype_name(dtype)) + ".");
    }
  }
  char nothing;
  try {
    parse_element(DType::kToken, "1", &nothing);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "token has no elements with a value.");
  }
}

}  // namespace
}  // namespace farcall
