// Corner cases of elementwise kernels, with XLA's results on CPUs.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <farcall/primitives/elementwise.h>

#include "kernel_testing.h"

namespace farcall::native::testing {
namespace {

using Texts = std::vector<std::string>;
using Words = std::initializer_list<std::string_view>;

Texts unary(const char* name, DType dtype, Words x, const ParamsPtr& params = nullptr) {
  const auto array = TestArray::of_text(dtype, x);
  return run_kernel(name, {array}, array.type(), params).texts();
}
Texts binary(const char* name, DType dtype, Words x, Words y) {
  const auto a = TestArray::of_text(dtype, x), b = TestArray::of_text(dtype, y);
  return run_kernel(name, {a, b}, a.type()).texts();
}
Texts convert(DType from, DType to, Words x) {
  const auto array = TestArray::of_text(from, x);
  return run_kernel("convert_element_type", {array}, array.type().with_dtype(to)).texts();
}
// The sign of a NaN is unspecified.
Texts without_nan_signs(Texts texts) {
  for (auto& text : texts) {
    if (text == "-nan") text = "nan";
  }
  return texts;
}

constexpr auto kF32 = DType::kFloat32, kF64 = DType::kFloat64, kI32 = DType::kInt32,
               kI8 = DType::kInt8, kU8 = DType::kUInt8, kI64 = DType::kInt64;

TEST(KernelCorners, IntegerDivision) {
  EXPECT_EQ(binary("div", kI8, {"7", "-7", "7", "-128", "5"}, {"2", "2", "0", "-1", "0"}),
            (Texts{"3", "-3", "-1", "-128", "-1"}));
  EXPECT_EQ(binary("rem", kI8, {"7", "-7", "7", "-128", "5"}, {"2", "2", "0", "-1", "0"}),
            (Texts{"1", "-1", "7", "0", "5"}));
  EXPECT_EQ(binary("div", kU8, {"7", "5"}, {"2", "0"}), (Texts{"3", "255"}));
  EXPECT_EQ(binary("div", DType::kUInt4, {"7", "5"}, {"2", "0"}), (Texts{"3", "15"}));
  EXPECT_EQ(binary("div", DType::kInt4, {"-8", "5"}, {"-1", "0"}), (Texts{"-8", "-1"}));
  EXPECT_EQ(binary("div", kI64, {"-9223372036854775808", "9223372036854775807"}, {"-1", "0"}),
            (Texts{"-9223372036854775808", "-1"}));
  EXPECT_EQ(binary("div", DType::kUInt64, {"1"}, {"0"}), (Texts{"18446744073709551615"}));
  EXPECT_EQ(binary("rem", kI64, {"-9223372036854775808"}, {"-1"}), (Texts{"0"}));
}

TEST(KernelCorners, FloatRemainder) {
  EXPECT_EQ(
      without_nan_signs(binary("rem", kF32, {"7.0", "5.0", "-5.0", "inf", "1.0", "-0.0", "-4.0"},
                               {"2.0", "0.0", "3.0", "2.0", "inf", "1.0", "2.0"})),
      (Texts{"1.0", "nan", "-2.0", "nan", "1.0", "-0.0", "-0.0"}));
}

TEST(KernelCorners, IntegerPower) {
  EXPECT_EQ(binary("pow", kI32, {"2", "2", "-1", "-1", "1", "0", "3"},
                   {"-1", "3", "-3", "-2", "-5", "0", "40"}),
            (Texts{"0", "8", "-1", "1", "1", "1", "689956897"}));
  EXPECT_EQ(unary("integer_pow", kF32, {"0.0", "2.0", "-1.0", "nan"},
                  make_params(IntegerPowParams{.y = -2})),
            (Texts{"inf", "0.25", "1.0", "nan"}));
  EXPECT_EQ(unary("integer_pow", kF32, {"0.0", "nan"}, make_params(IntegerPowParams{.y = 0})),
            (Texts{"1.0", "1.0"}));
  EXPECT_EQ(unary("integer_pow", DType::kComplex64, {"(1.0+1.0j)"},
                  make_params(IntegerPowParams{.y = -3})),
            (Texts{"(-0.25-0.25j)"}));
  const auto base = TestArray::of_text(kF32, {"2.0", "-2.0"});
  const auto exponent = TestArray::of_text(kI32, {"3", "-3"});
  EXPECT_EQ(run_kernel("pow", {base, exponent}, base.type()).texts(), (Texts{"8.0", "-0.125"}));
}

TEST(KernelCorners, FloatPower) {
  EXPECT_EQ(
      without_nan_signs(binary("pow", kF32, {"0.0", "0.0", "1.0", "nan", "-1.0", "-8.0", "1.0"},
                               {"0.0", "-1.0", "nan", "0.0", "inf", "0.3333", "inf"})),
      (Texts{"1.0", "inf", "1.0", "1.0", "1.0", "nan", "1.0"}));
  EXPECT_EQ(without_nan_signs(binary("pow", DType::kComplex64, {"(0.0+0.0j)", "(0.0+0.0j)"},
                                     {"(0.0+0.0j)", "(1.0+0.0j)"})),
            (Texts{"(1.0+0.0j)", "(0.0+0.0j)"}));
}

TEST(KernelCorners, MaximumAndMinimum) {
  for (const DType dtype : {kF32, kF64, DType::kFloat16, DType::kBFloat16}) {
    EXPECT_EQ(binary("max", dtype, {"nan", "1.0", "-0.0", "0.0"}, {"1.0", "nan", "0.0", "-0.0"}),
              (Texts{"nan", "nan", "0.0", "0.0"}));
    EXPECT_EQ(binary("min", dtype, {"nan", "1.0", "-0.0", "0.0"}, {"1.0", "nan", "0.0", "-0.0"}),
              (Texts{"nan", "nan", "-0.0", "-0.0"}));
  }
  EXPECT_EQ(binary("max", DType::kUInt64, {"18446744073709551615"}, {"1"}),
            (Texts{"18446744073709551615"}));
}

TEST(KernelCorners, Sign) {
  EXPECT_EQ(unary("sign", kF32, {"nan", "-0.0", "0.0", "-5.0", "inf"}),
            (Texts{"nan", "-0.0", "0.0", "-1.0", "1.0"}));
  EXPECT_EQ(unary("sign", DType::kComplex64, {"(3.0+4.0j)", "(0.0+0.0j)"}),
            (Texts{"(0.6+0.8j)", "(0.0+0.0j)"}));
}

TEST(KernelCorners, Shifts) {
  EXPECT_EQ(binary("shift_left", kI32, {"1", "1", "1", "1"}, {"31", "32", "-1", "100"}),
            (Texts{"-2147483648", "0", "0", "0"}));
  EXPECT_EQ(
      binary("shift_right_arithmetic", kI32, {"-8", "8", "-8", "-8"}, {"1", "32", "-1", "100"}),
      (Texts{"-4", "0", "-1", "-1"}));
  EXPECT_EQ(binary("shift_right_arithmetic", kU8, {"200", "200"}, {"1", "9"}),
            (Texts{"228", "255"}));
  EXPECT_EQ(binary("shift_right_logical", kI8, {"-8", "8", "-8"}, {"1", "8", "-1"}),
            (Texts{"124", "0", "0"}));
  EXPECT_EQ(binary("shift_right_logical", DType::kInt4, {"-1"}, {"1"}), (Texts{"7"}));
  EXPECT_EQ(binary("shift_left", kI64, {"1"}, {"63"}), (Texts{"-9223372036854775808"}));
}

TEST(KernelCorners, Rounding) {
  const auto away = make_params(RoundParams{.rounding_method = 0});
  const auto even = make_params(RoundParams{.rounding_method = 1});
  EXPECT_EQ(
      unary("round", kF32, {"0.5", "1.5", "-0.5", "-2.5", "0.49999997", "nan", "8388609.0"}, away),
      (Texts{"1.0", "2.0", "-1.0", "-3.0", "0.0", "nan", "8388609.0"}));
  EXPECT_EQ(unary("round", kF32, {"0.5", "1.5", "-0.5", "-2.5", "0.49999997", "nan"}, even),
            (Texts{"0.0", "2.0", "-0.0", "-2.0", "0.0", "nan"}));
}

TEST(KernelCorners, BoolArithmeticIsLogic) {
  const Words x = {"True", "True", "False", "False"}, y = {"True", "False", "True", "False"};
  const Texts both = {"True", "False", "False", "False"}, any = {"True", "True", "True", "False"};
  for (const char* name : {"mul", "min", "and"}) {
    EXPECT_EQ(binary(name, DType::kBool, x, y), both) << name;
  }
  for (const char* name : {"add", "max", "or"}) {
    EXPECT_EQ(binary(name, DType::kBool, x, y), any) << name;
  }
  EXPECT_EQ(binary("xor", DType::kBool, x, y), (Texts{"False", "True", "True", "False"}));
  EXPECT_EQ(unary("not", DType::kBool, x), (Texts{"False", "False", "True", "True"}));
}

TEST(KernelCorners, IsFinite) {
  for (const DType dtype : {kF32, kF64, DType::kFloat16, DType::kFloat8E5M2}) {
    const auto x = TestArray::of_text(dtype, {"1.0", "inf", "-inf", "nan", "-0.0"});
    EXPECT_EQ(run_kernel("is_finite", {x}, {DType::kBool, {5}}).texts(),
              (Texts{"True", "False", "False", "False", "True"}));
  }
}

TEST(KernelCorners, SpecialFunctions) {
  EXPECT_EQ(without_nan_signs(unary("erf_inv", kF64, {"-1.0", "1.0", "0.0", "2.0", "nan", "-0.0"})),
            (Texts{"-inf", "inf", "0.0", "nan", "nan", "-0.0"}));
  EXPECT_EQ(unary("lgamma", kF32, {"0.0", "-1.0", "inf", "-inf", "nan", "1.0", "2.0"}),
            (Texts{"inf", "inf", "inf", "inf", "nan", "0.0", "0.0"}));
  EXPECT_EQ(
      without_nan_signs(unary("digamma", kF32, {"0.0", "-0.0", "-1.0", "inf", "-inf", "nan"})),
      (Texts{"nan", "nan", "nan", "inf", "nan", "nan"}));
  EXPECT_EQ(unary("logistic", kF32, {"-1000.0", "1000.0", "0.0", "-inf"}),
            (Texts{"0.0", "1.0", "0.5", "0.0"}));
  EXPECT_EQ(unary("rsqrt", kF32, {"0.0", "-0.0", "inf"}), (Texts{"inf", "-inf", "0.0"}));
  EXPECT_EQ(unary("cbrt", kF64, {"-8.0"}), (Texts{"-2.0"}));
  EXPECT_EQ(unary("exp2", kF32, {"-140.0", "127.0", "128.0"}),
            (Texts{"7.17e-43", "1.7014118e+38", "inf"}));
}

TEST(KernelCorners, TheNormalDistributionAndItsInverse) {
  EXPECT_EQ(without_nan_signs(unary("ndtri", kF64, {"0.0", "1.0", "0.5", "-0.1", "1.1", "nan"})),
            (Texts{"-inf", "inf", "0.0", "nan", "nan", "nan"}));
  EXPECT_EQ(unary("ndtr", kF32, {"-inf", "inf", "0.0"}), (Texts{"0.0", "1.0", "0.5"}));
  EXPECT_EQ(unary("log_ndtr", kF32, {"-inf", "inf", "-1e+30"}), (Texts{"-inf", "-0.0", "-inf"}));
  EXPECT_EQ(unary("logit", kF32, {"0.0", "1.0", "0.5"}), (Texts{"-inf", "inf", "0.0"}));
  EXPECT_EQ(unary("erfcx", kF32, {"inf", "-inf", "0.0"}), (Texts{"0.0", "inf", "1.0"}));
}

TEST(KernelCorners, GammaAndBeta) {
  EXPECT_EQ(
      without_nan_signs(unary("gamma", kF32, {"0.0", "-0.0", "-1.0", "inf", "-inf", "171.5"})),
      (Texts{"inf", "-inf", "nan", "inf", "nan", "inf"}));
  EXPECT_EQ(binary("beta", kF64, {"0.0", "inf", "1e+300", "nan"}, {"1.0", "2.0", "1.0", "1.0"}),
            (Texts{"inf", "0.0", "1e-300", "nan"}));
  EXPECT_EQ(binary("betaln", kF64, {"1.0", "inf"}, {"1.0", "2.0"}), (Texts{"0.0", "-inf"}));
}

TEST(KernelCorners, BesselFunctionsOfLargeArguments) {
  EXPECT_EQ(unary("bessel_i0", kF64, {"-inf", "720.0"}), (Texts{"inf", "inf"}));
  EXPECT_EQ(unary("bessel_i1", kF32, {"-inf", "-0.0"}), (Texts{"-inf", "-0.0"}));
  EXPECT_EQ(unary("bessel_i0e", kF64, {"inf"}), (Texts{"0.0"}));
  const TestArray x(kF64, {713, -1e308});
  EXPECT_TRUE(is_close(run_kernel("bessel_i0", {x}, x.type()), 0, 6.705128263670996e+307, 4));
  EXPECT_TRUE(is_close(run_kernel("bessel_i1e", {x}, x.type()), 1, -3.989422804014327e-155, 4));
}

TEST(KernelCorners, WholeTurnsOfSineAndCosine) {
  EXPECT_EQ(unary("sinpi", kF32, {"1.0", "-1.0", "2.5", "-0.0", "1e+30", "0.5", "-1.5"}),
            (Texts{"0.0", "-0.0", "1.0", "-0.0", "0.0", "1.0", "1.0"}));
  EXPECT_EQ(unary("cospi", kF32, {"1.0", "-1.0", "2.5", "0.0", "1e+30", "0.5", "-1.5"}),
            (Texts{"-1.0", "-1.0", "0.0", "1.0", "1.0", "0.0", "0.0"}));
  EXPECT_EQ(without_nan_signs(unary("sinpi", kF32, {"inf", "nan"})), (Texts{"nan", "nan"}));
}

TEST(KernelCorners, GreatestCommonDivisorOfTheLowestInteger) {
  EXPECT_EQ(binary("gcd", DType::kInt8, {"-128", "-128", "-128", "0", "12"},
                   {"6", "-128", "0", "0", "-18"}),
            (Texts{"2", "-128", "-128", "0", "6"}));
}

TEST(KernelCorners, DigammaValues) {
  // Known exactly: psi(1), psi(1/2), psi(-1/2), psi(1/4), psi(100).
  const TestArray x(kF64, {1, 0.5, -0.5, 0.25, 100, 1e-30, -1e-30});
  const double expected[] = {-0.57721566490153286061,
                             -1.96351002602142347944,
                             0.03648997397857652056,
                             -4.22745353337626540809,
                             4.60016185273808739903,
                             -1e30,
                             1e30};
  const TestArray result = run_kernel("digamma", {x}, x.type());
  for (int64_t i = 0; i < x.size(); ++i) {
    EXPECT_TRUE(is_close(result, i, expected[i], i == 2 ? 64 : 4)) << x.text(i);
  }
}

TEST(KernelCorners, ErfInvInvertsErf) {
  TestArray y(ShapeDtype(kF64, {2001}));
  for (int64_t i = 0; i < y.size(); ++i) y.set(i, std::tanh((static_cast<double>(i) - 1000) / 70));
  const TestArray x = run_kernel("erf_inv", {y}, y.type());
  for (int64_t i = 0; i < y.size(); ++i) {
    const double value = y.real(i);
    if (std::fabs(value) == 1) continue;
    // Where erf is flat, compare erfc instead.
    const double back =
        std::fabs(value) < 0.5 ? std::erf(x.real(i)) : std::erfc(std::fabs(x.real(i)));
    const double want = std::fabs(value) < 0.5 ? value : 1 - std::fabs(value);
    EXPECT_NEAR(back / (want == 0 ? 1 : want), want == 0 ? 0 : 1, 2e-14) << value;
  }
}

TEST(KernelCorners, Nextafter) {
  EXPECT_EQ(binary("nextafter", kF32, {"0.0", "1.0", "-0.0", "nan"}, {"1.0", "2.0", "-1.0", "1.0"}),
            (Texts{"1e-45", "1.0000001", "-1e-45", "nan"}));
  EXPECT_EQ(binary("nextafter", DType::kBFloat16, {"0.0", "1.0", "-0.0", "nan", "1.0"},
                   {"1.0", "2.0", "-1.0", "1.0", "-inf"}),
            (Texts{"9e-41", "1.01", "-9e-41", "nan", "0.996"}));
  // Of equal numbers it is the second.
  EXPECT_EQ(binary("nextafter", DType::kBFloat16, {"0.0", "-0.0", "1.0"}, {"-0.0", "0.0", "1.0"}),
            (Texts{"-0.0", "0.0", "1.0"}));
  EXPECT_EQ(
      binary("nextafter", DType::kFloat8E4M3FN, {"0.0", "1.0", "-1.0"}, {"-1.0", "2.0", "2.0"}),
      (Texts{"-0.002", "1.1", "-0.94"}));
  EXPECT_EQ(binary("nextafter", DType::kFloat16, {"65504.0", "-inf"}, {"inf", "0.0"}),
            (Texts{"inf", "-65504.0"}));
  // Below the smallest value comes zero; these formats have no negative zero.
  const auto smallest =
      run_kernel("nextafter",
                 {TestArray(DType::kFloat8E4M3FNUZ, {0}), TestArray(DType::kFloat8E4M3FNUZ, {-1})},
                 {DType::kFloat8E4M3FNUZ, {1}});
  EXPECT_LT(smallest.real(0), 0);
  EXPECT_EQ(
      run_kernel("nextafter", {smallest, TestArray(DType::kFloat8E4M3FNUZ, {1})}, smallest.type())
          .texts(),
      (Texts{"0.0"}));
}

TEST(KernelCorners, NarrowFloatsRoundOnce) {
  EXPECT_EQ(binary("add", DType::kBFloat16, {"1.0", "-1.0"}, {"0.0039", "2.0"}),
            (Texts{"1.0", "1.0"}));
  EXPECT_EQ(binary("mul", DType::kFloat8E4M3FN, {"400.0"}, {"2.0"}), (Texts{"nan"}));
  EXPECT_EQ(binary("mul", DType::kFloat8E5M2, {"40000.0"}, {"2.0"}), (Texts{"inf"}));
  EXPECT_EQ(binary("mul", DType::kFloat4E2M1FN, {"4.0"}, {"2.0"}), (Texts{"6.0"}));
  EXPECT_EQ(binary("mul", DType::kFloat8E8M0FNU, {"4.0"}, {"2.0"}), (Texts{"8.0"}));
}

TEST(KernelCorners, SubnormalsAreKept) {
  EXPECT_EQ(binary("add", kF32, {"1e-40"}, {"1e-40"}), (Texts{"1.99999e-40"}));
}

TEST(KernelCorners, FloatsToIntegersSaturate) {
  const Words x = {"1.9", "-1.9", "300.0", "-300.0", "inf", "-inf", "nan", "3e+09", "1e+30", "0.5"};
  for (const DType from : {kF32, kF64, DType::kBFloat16}) {
    EXPECT_EQ(convert(from, kI8, x),
              (Texts{"1", "-1", "127", "-128", "127", "-128", "0", "127", "127", "0"}));
    EXPECT_EQ(convert(from, kU8, x),
              (Texts{"1", "0", "255", "0", "255", "0", "0", "255", "255", "0"}));
    EXPECT_EQ(convert(from, DType::kInt4, x),
              (Texts{"1", "-1", "7", "-8", "7", "-8", "0", "7", "7", "0"}));
    EXPECT_EQ(convert(from, DType::kUInt4, x),
              (Texts{"1", "0", "15", "0", "15", "0", "0", "15", "15", "0"}));
    EXPECT_EQ(convert(from, DType::kInt2, x),
              (Texts{"1", "-1", "1", "-2", "1", "-2", "0", "1", "1", "0"}));
    EXPECT_EQ(convert(from, DType::kBool, {"nan", "0.0", "-0.0", "0.5"}),
              (Texts{"True", "False", "False", "True"}));
  }
  EXPECT_EQ(convert(kF32, kI64, {"inf", "-inf", "1e+30", "9.223372e+18"}),
            (Texts{"9223372036854775807", "-9223372036854775808", "9223372036854775807",
                   "9223372036854775807"}));
  EXPECT_EQ(convert(kF32, DType::kUInt64, {"inf", "-1.0", "1e+19"}),
            (Texts{"18446744073709551615", "0", "9999999980506447872"}));
  EXPECT_EQ(convert(kF32, kI32, {"2147483647.0", "3e+09", "-3e+09"}),
            (Texts{"2147483647", "2147483647", "-2147483648"}));
  EXPECT_EQ(convert(kF64, DType::kUInt32, {"3000000000.5", "-0.5"}), (Texts{"3000000000", "0"}));
}

TEST(KernelCorners, OtherConversions) {
  EXPECT_EQ(convert(kI64, kI8, {"300", "-300", "1099511627776"}), (Texts{"44", "-44", "0"}));
  EXPECT_EQ(convert(kI64, DType::kInt4, {"300", "-300"}), (Texts{"-4", "4"}));
  EXPECT_EQ(convert(kI64, DType::kUInt32, {"-300"}), (Texts{"4294966996"}));
  EXPECT_EQ(convert(kI8, DType::kUInt64, {"-1"}), (Texts{"18446744073709551615"}));
  EXPECT_EQ(convert(DType::kInt4, DType::kUInt8, {"-1"}), (Texts{"255"}));
  EXPECT_EQ(convert(DType::kInt4, DType::kUInt4, {"-1"}), (Texts{"15"}));
  EXPECT_EQ(convert(DType::kUInt4, DType::kInt4, {"15"}), (Texts{"-1"}));
  EXPECT_EQ(convert(DType::kBool, DType::kInt1, {"True"}), (Texts{"-1"}));
  EXPECT_EQ(convert(DType::kBool, kF32, {"True", "False"}), (Texts{"1.0", "0.0"}));
  EXPECT_EQ(convert(kI64, kF32, {"16777217"}), (Texts{"16777216.0"}));
  EXPECT_EQ(convert(kI64, DType::kFloat16, {"2049", "65519", "65520"}),
            (Texts{"2048.0", "65504.0", "inf"}));
  EXPECT_EQ(convert(DType::kComplex64, kI8, {"(1.5+2.0j)"}), (Texts{"1"}));
  EXPECT_EQ(convert(DType::kComplex64, DType::kBool, {"(0.0+1.0j)"}), (Texts{"False"}));
  EXPECT_EQ(convert(DType::kComplex128, DType::kBFloat16, {"(1.5+2.0j)"}), (Texts{"1.5"}));
  EXPECT_EQ(convert(DType::kComplex64, DType::kComplex128, {"(1.5+2.0j)"}), (Texts{"(1.5+2.0j)"}));
  EXPECT_EQ(convert(DType::kInt4, DType::kComplex64, {"-3"}), (Texts{"(-3.0+0.0j)"}));
  EXPECT_EQ(convert(kF32, DType::kFloat8E4M3FN, {"1.5", "1e+09"}), (Texts{"1.5", "nan"}));
}

// Between all pairs of dtypes, with numbers that both represent.
TEST(KernelCorners, AllConversionsOfSmallNumbers) {
  for (const auto& from : all_dtypes()) {
    for (const auto& to : all_dtypes()) {
      if (from.dtype == DType::kToken || to.dtype == DType::kToken) continue;
      TestArray x(ShapeDtype(from.dtype, {1030}));
      for (int64_t i = 0; i < x.size(); ++i) x.set(i, static_cast<double>((i % 3) != 0));
      if (from.dtype == DType::kInt1 || to.dtype == DType::kInt1) {
        for (int64_t i = 0; i < x.size(); ++i) x.set(i, 0);
      }
      const ShapeDtype type(to.dtype, {1030});
      const TestArray result = run_kernel("convert_element_type", {x}, type);
      for (int64_t i = 0; i < x.size(); ++i) {
        if (std::isnan(x.real(i)) || to.dtype == DType::kFloat8E8M0FNU) continue;
        ASSERT_EQ(result.get(i), x.real(i) == 0 || to.dtype != DType::kBool ? x.get(i) : 1.0)
            << from.name << " to " << to.name;
      }
      if (from.byte_width == to.byte_width) {
        EXPECT_TRUE(run_in_place("convert_element_type", {x}, 0, type).same_bytes(result))
            << from.name << " to " << to.name;
      }
    }
  }
}

TEST(KernelCorners, Bitcast) {
  const auto bitcast = [](DType from, DType to, Words x) {
    const auto array = TestArray::of_text(from, x);
    return run_kernel("bitcast_convert_type", {array}, array.type().with_dtype(to)).texts();
  };
  EXPECT_EQ(bitcast(kF32, DType::kUInt32, {"1.0"}), (Texts{"1065353216"}));
  EXPECT_EQ(bitcast(kI64, kF64, {"4607182418800017408"}), (Texts{"1.0"}));
  EXPECT_EQ(bitcast(DType::kFloat8E4M3FN, kU8, {"1.0"}), (Texts{"56"}));
  EXPECT_EQ(bitcast(DType::kInt4, DType::kUInt4, {"-1", "3"}), (Texts{"15", "3"}));
  EXPECT_EQ(bitcast(DType::kUInt4, DType::kInt4, {"15", "3"}), (Texts{"-1", "3"}));
  EXPECT_EQ(bitcast(DType::kInt4, DType::kFloat4E2M1FN, {"-1"}), (Texts{"-6.0"}));
  EXPECT_EQ(bitcast(DType::kFloat4E2M1FN, DType::kInt4, {"-6.0"}), (Texts{"-1"}));
}

TEST(KernelCorners, Clamp) {
  const auto clamp = [](DType dtype, Words low, Words x, Words high) {
    const auto array = TestArray::of_text(dtype, x);
    return without_nan_signs(
        run_kernel("clamp",
                   {TestArray::of_text(dtype, low), array, TestArray::of_text(dtype, high)},
                   array.type())
            .texts());
  };
  EXPECT_EQ(clamp(kF32, {"1.0"}, {"nan", "0.0", "5.0", "3.0"}, {"4.0"}),
            (Texts{"nan", "1.0", "4.0", "3.0"}));
  EXPECT_EQ(clamp(kF32, {"5.0"}, {"nan", "0.0", "5.0", "3.0"}, {"4.0"}),
            (Texts{"nan", "4.0", "4.0", "4.0"}));
  EXPECT_EQ(clamp(kF32, {"nan"}, {"0.0", "5.0"}, {"4.0"}), (Texts{"nan", "nan"}));
  EXPECT_EQ(clamp(kI8, {"1", "2"}, {"0", "9"}, {"5", "6"}), (Texts{"1", "6"}));
  EXPECT_EQ(clamp(DType::kBFloat16, {"1.0"}, {"0.0", "2.0", "9.0"}, {"4.0"}),
            (Texts{"1.0", "2.0", "4.0"}));
}

TEST(KernelCorners, SelectN) {
  const auto a = TestArray::of_text(kF32, {"1.0", "2.0", "3.0"});
  const auto b = TestArray::of_text(kF32, {"4.0", "5.0", "6.0"});
  const auto c = TestArray::of_text(kF32, {"7.0", "8.0", "9.0"});
  const auto scalar = TestArray(ShapeDtype(kF32, {}), std::vector<double>{0});
  const auto pick = TestArray::of_text(DType::kBool, {"True", "False", "True"});
  const auto yes = TestArray(ShapeDtype(DType::kBool, {}), std::vector<double>{1});
  const auto index = TestArray::of_text(kI32, {"0", "-1", "5"});
  const auto two = TestArray(ShapeDtype(kI32, {}), std::vector<double>{2});
  EXPECT_EQ(run_kernel("select_n", {pick, a, b}, a.type()).texts(), (Texts{"4.0", "2.0", "6.0"}));
  EXPECT_EQ(run_kernel("select_n", {pick, scalar, b}, a.type()).texts(),
            (Texts{"4.0", "0.0", "6.0"}));
  EXPECT_EQ(run_kernel("select_n", {yes, a, b}, a.type()).texts(), b.texts());
  EXPECT_EQ(run_kernel("select_n", {yes, a, scalar}, a.type()).texts(),
            (Texts{"0.0", "0.0", "0.0"}));
  EXPECT_EQ(run_kernel("select_n", {index, a, b, c}, a.type()).texts(),
            (Texts{"1.0", "2.0", "9.0"}));
  EXPECT_EQ(run_kernel("select_n", {index, a, b, scalar}, a.type()).texts(),
            (Texts{"1.0", "2.0", "0.0"}));
  EXPECT_EQ(run_kernel("select_n", {two, a, b, c}, a.type()).texts(), c.texts());
  EXPECT_EQ(run_kernel("select_n", {index, a}, a.type()).texts(), a.texts());
  EXPECT_EQ(run_in_place("select_n", {pick, a, b}, 1, a.type()).texts(),
            (Texts{"4.0", "2.0", "6.0"}));
  EXPECT_EQ(run_in_place("select_n", {index, a, b, c}, 0, a.type()).texts(),
            (Texts{"1.0", "2.0", "9.0"}));
  EXPECT_EQ(run_in_place("select_n", {yes, a, b}, 1, a.type()).texts(), b.texts());
  const auto z = TestArray::of_text(DType::kComplex128, {"(1.0+2.0j)", "(3.0+4.0j)"});
  const auto w = TestArray::of_text(DType::kComplex128, {"(5.0+6.0j)", "(7.0+8.0j)"});
  const auto both = TestArray::of_text(DType::kBool, {"False", "True"});
  EXPECT_EQ(run_kernel("select_n", {both, z, w}, z.type()).texts(),
            (Texts{"(1.0+2.0j)", "(7.0+8.0j)"}));
}

}  // namespace
}  // namespace farcall::native::testing
