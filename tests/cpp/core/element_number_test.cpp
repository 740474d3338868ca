#include <farcall/core/element_number.h>

#include <cmath>
#include <complex>
#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include <farcall/core/element_text.h>

namespace farcall {
namespace {

// The converted element as text; empty if `to` cannot represent it.
template <class T>
std::optional<std::string> converted(DType from, T value, DType to) {
  alignas(16) std::byte out[16] = {};
  if (!convert_element(from, &value, to, out)) return std::nullopt;
  return format_element(to, out);
}
std::optional<std::string> from_int(int64_t value, DType to) {
  return converted(DType::kInt64, value, to);
}
std::optional<std::string> from_float(double value, DType to) {
  return converted(DType::kFloat64, value, to);
}
std::optional<std::string> from_complex(std::complex<double> value, DType to) {
  return converted(DType::kComplex128, value, to);
}

constexpr auto kNone = std::nullopt;

TEST(ElementNumber, IntegersAreExactOrRefused) {
  EXPECT_EQ(from_int(-128, DType::kInt8), "-128");
  EXPECT_EQ(from_int(128, DType::kInt8), kNone);
  EXPECT_EQ(from_int(-1, DType::kUInt64), kNone);
  EXPECT_EQ(converted(DType::kUInt64, ~uint64_t{0}, DType::kUInt64), "18446744073709551615");
  EXPECT_EQ(converted(DType::kUInt64, ~uint64_t{0}, DType::kInt64), kNone);
  EXPECT_EQ(from_int(std::numeric_limits<int64_t>::min(), DType::kInt64), "-9223372036854775808");
  EXPECT_EQ(from_int(-8, DType::kInt4), "-8");
  EXPECT_EQ(from_int(8, DType::kInt4), kNone);
  EXPECT_EQ(from_int(3, DType::kUInt2), "3");
  EXPECT_EQ(from_int(1, DType::kBool), "True");
  EXPECT_EQ(from_int(2, DType::kBool), kNone);
}

TEST(ElementNumber, IntegersAsFloatsAreNotRounded) {
  EXPECT_EQ(from_int(16777216, DType::kFloat32), "16777216.0");
  EXPECT_EQ(from_int(16777217, DType::kFloat32), kNone);
  EXPECT_EQ(from_int((int64_t{1} << 53) + 1, DType::kFloat64), kNone);
  EXPECT_EQ(converted(DType::kUInt64, ~uint64_t{0}, DType::kFloat64), kNone);
  EXPECT_EQ(from_int(2048, DType::kFloat16), "2048.0");
  EXPECT_EQ(from_int(2049, DType::kFloat16), kNone);
  EXPECT_EQ(from_int(1 << 17, DType::kFloat16), kNone);
  EXPECT_EQ(from_int(-3, DType::kComplex64), "(-3.0+0.0j)");
}

TEST(ElementNumber, WholeFloatsAreIntegers) {
  EXPECT_EQ(from_float(2.0, DType::kInt32), "2");
  EXPECT_EQ(from_float(-0.0, DType::kUInt8), "0");
  EXPECT_EQ(from_float(2.5, DType::kInt32), kNone);
  EXPECT_EQ(from_float(1e20, DType::kUInt64), kNone);
  EXPECT_EQ(from_float(9223372036854775808.0, DType::kUInt64), "9223372036854775808");
  EXPECT_EQ(from_float(INFINITY, DType::kInt64), kNone);
  EXPECT_EQ(from_float(NAN, DType::kInt64), kNone);
  EXPECT_EQ(from_float(1.0, DType::kBool), "True");
}

TEST(ElementNumber, FloatsAreRoundedToTheNearest) {
  EXPECT_EQ(from_float(0.1, DType::kFloat32), "0.1");
  EXPECT_EQ(from_float(0.1, DType::kBFloat16), "0.1");
  EXPECT_EQ(converted(DType::kFloat32, 0.1f, DType::kFloat64), "0.10000000149011612");
  EXPECT_EQ(from_float(1e300, DType::kFloat32), kNone);
  EXPECT_EQ(from_float(1e-300, DType::kFloat32), kNone);
  EXPECT_EQ(from_float(65520.0, DType::kFloat16), kNone);
  EXPECT_EQ(from_float(INFINITY, DType::kFloat16), "inf");
  EXPECT_EQ(from_float(-INFINITY, DType::kFloat32), "-inf");
  EXPECT_EQ(from_float(NAN, DType::kFloat32), "nan");
  EXPECT_EQ(from_float(448.0, DType::kFloat8E4M3FN), "448.0");
  EXPECT_EQ(from_float(1000.0, DType::kFloat8E4M3FN), kNone);
  EXPECT_EQ(from_float(INFINITY, DType::kFloat8E4M3FN), kNone);
  EXPECT_EQ(from_float(100.0, DType::kFloat4E2M1FN), kNone);
  EXPECT_EQ(from_float(-1.0, DType::kFloat8E8M0FNU), kNone);
}

TEST(ElementNumber, ComplexNumbersWithoutAnImaginaryPartAreReal) {
  EXPECT_EQ(from_complex({2, 0}, DType::kFloat32), "2.0");
  EXPECT_EQ(from_complex({2, -0.0}, DType::kInt8), "2");
  EXPECT_EQ(from_complex({2, 1}, DType::kFloat32), kNone);
  EXPECT_EQ(from_complex({2, NAN}, DType::kFloat64), kNone);
  EXPECT_EQ(from_complex({0.1, -2}, DType::kComplex64), "(0.1-2.0j)");
  EXPECT_EQ(from_complex({0, 1e300}, DType::kComplex64), kNone);
}

TEST(ElementNumber, BoolsAreZeroAndOne) {
  EXPECT_EQ(converted(DType::kBool, true, DType::kInt16), "1");
  EXPECT_EQ(converted(DType::kBool, true, DType::kFloat32), "1.0");
  EXPECT_EQ(converted(DType::kBool, false, DType::kComplex128), "(0.0+0.0j)");
}

// Values survive conversion through any dtype that can represent them.
TEST(ElementNumber, SmallIntegersSurviveEveryDType) {
  for (const DTypeInfo& info : all_dtypes()) {
    if (info.kind == DTypeKind::kToken) continue;
    const auto there = from_int(1, info.dtype);
    if (info.dtype == DType::kInt1) {
      EXPECT_EQ(there, kNone);
      continue;
    }
    ASSERT_TRUE(there) << info.name;
    alignas(16) std::byte element[16];
    parse_element(info.dtype, *there, element);
    int64_t back = 0;
    ASSERT_TRUE(convert_element(info.dtype, element, DType::kInt64, &back)) << info.name;
    EXPECT_EQ(back, 1) << info.name;
  }
}

TEST(ElementNumber, Ranges) {
  EXPECT_EQ(range_text(DType::kInt8), "from -128 to 127");
  EXPECT_EQ(range_text(DType::kUInt64), "from 0 to 18446744073709551615");
  EXPECT_EQ(range_text(DType::kInt4), "from -8 to 7");
  EXPECT_EQ(range_text(DType::kBool), "True or False");
  EXPECT_EQ(range_text(DType::kFloat16), "from -65504.0 to 65504.0");
  EXPECT_EQ(range_text(DType::kFloat32), "from -3.4028235e+38 to 3.4028235e+38");
  EXPECT_EQ(range_text(DType::kFloat8E4M3FN), "from -448.0 to 448.0");
  EXPECT_EQ(range_text(DType::kComplex64), "with parts from -3.4028235e+38 to 3.4028235e+38");
}

}  // namespace
}  // namespace farcall
