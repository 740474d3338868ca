// Elementwise kernels compared with plain loops in double, for every dtype that they support.
#include <cmath>
#include <complex>
#include <numbers>

#include <gtest/gtest.h>

#include <farcall/primitives/elementwise.h>

#include "kernel_testing.h"

namespace farcall::native::testing {
namespace {

constexpr DType kFloats[] = {
    DType::kFloat32,           DType::kFloat64,        DType::kFloat16,       DType::kBFloat16,
    DType::kFloat8E5M2,        DType::kFloat8E4M3,     DType::kFloat8E3M4,    DType::kFloat8E4M3FN,
    DType::kFloat8E4M3B11FNUZ, DType::kFloat8E5M2FNUZ, DType::kFloat8E4M3FNUZ};
constexpr DType kIntegers[] = {DType::kInt1,   DType::kInt2,  DType::kInt4,  DType::kInt8,
                               DType::kInt16,  DType::kInt32, DType::kInt64, DType::kUInt1,
                               DType::kUInt2,  DType::kUInt4, DType::kUInt8, DType::kUInt16,
                               DType::kUInt32, DType::kUInt64};

TEST(Kernels, EveryPrimitiveHasARow) {
#define FARCALL_UNARY(function, primitive, ...) \
  EXPECT_NE(find_kernel(primitive), nullptr) << primitive;
#define FARCALL_BINARY(function, primitive, ...) \
  EXPECT_NE(find_kernel(primitive), nullptr) << primitive;
#include <farcall/ops/elementwise_list.h>
  for (const char* name : {"round",
                           "integer_pow",
                           "convert_element_type",
                           "bitcast_convert_type",
                           "copy",
                           "select_n",
                           "clamp",
                           "broadcast_in_dim",
                           "reshape",
                           "transpose",
                           "slice",
                           "concatenate",
                           "rev",
                           "iota",
                           "reduce_sum",
                           "reduce_prod",
                           "reduce_max",
                           "reduce_min",
                           "reduce_and",
                           "reduce_or",
                           "argmax",
                           "argmin",
                           "dot_general"}) {
    EXPECT_NE(find_kernel(name), nullptr) << name;
  }
  EXPECT_EQ(find_kernel("ad"), nullptr);
  EXPECT_EQ(find_kernel("zzz"), nullptr);
}

TEST(Kernels, NoneForDtypesWithoutMeaning) {
  const ShapeDtype b(DType::kBool, {2}), i(DType::kInt32, {2}), c(DType::kComplex64, {2});
  EXPECT_FALSE(has_kernel("sin", {{i}}, i));
  EXPECT_FALSE(has_kernel("neg", {{b}}, b));
  EXPECT_FALSE(has_kernel("floor", {{c}}, c));
  EXPECT_FALSE(has_kernel("lt", {{c, c}}, b));
  EXPECT_FALSE(has_kernel("div", {{b, b}}, b));
  EXPECT_FALSE(has_kernel("and", {{c, c}}, c));
}

// ---- functions of one float operand

struct UnaryCase {
  const char* name;
  double (*function)(double);
  double low, high;  // the range of arguments
};
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

const UnaryCase kUnary[] = {
    {"neg", [](double x) { return -x; }, -10, 10},
    {"abs", [](double x) { return std::fabs(x); }, -10, 10},
    {"sign", [](double x) { return x > 0 ? 1.0 : (x < 0 ? -1.0 : x); }, -2, 2},
    {"floor", [](double x) { return std::floor(x); }, -10, 10},
    {"ceil", [](double x) { return std::ceil(x); }, -10, 10},
    {"exp", [](double x) { return std::exp(x); }, -12, 12},
    {"exp2", [](double x) { return std::exp2(x); }, -12, 12},
    {"expm1", [](double x) { return std::expm1(x); }, -4, 4},
    {"log", [](double x) { return std::log(x); }, 0.01, 100},
    {"log1p", [](double x) { return std::log1p(x); }, -0.9, 10},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0, 100},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0.01, 100},
    {"cbrt", [](double x) { return std::cbrt(x); }, -100, 100},
    {"sin", [](double x) { return std::sin(x); }, -20, 20},
    {"cos", [](double x) { return std::cos(x); }, -20, 20},
    {"tan", [](double x) { return std::tan(x); }, -1.5, 1.5},
    {"asin", [](double x) { return std::asin(x); }, -1, 1},
    {"acos", [](double x) { return std::acos(x); }, -1, 1},
    {"atan", [](double x) { return std::atan(x); }, -20, 20},
    {"sinh", [](double x) { return std::sinh(x); }, -5, 5},
    {"cosh", [](double x) { return std::cosh(x); }, -5, 5},
    {"tanh", [](double x) { return std::tanh(x); }, -5, 5},
    {"asinh", [](double x) { return std::asinh(x); }, -20, 20},
    {"acosh", [](double x) { return std::acosh(x); }, 1, 20},
    {"atanh", [](double x) { return std::atanh(x); }, -0.99, 0.99},
    {"logistic", logistic, -15, 15},
    {"erf", [](double x) { return std::erf(x); }, -3, 3},
    {"erfc", [](double x) { return std::erfc(x); }, -3, 5},
    {"lgamma", [](double x) { return std::lgamma(x); }, 2.5, 20},
    {"square", [](double x) { return x * x; }, -10, 10},
    {"log2", [](double x) { return std::log2(x); }, 0.01, 100},
    {"log10", [](double x) { return std::log10(x); }, 0.01, 100},
    {"gamma", [](double x) { return std::tgamma(x); }, 0.1, 8},
    {"factorial", [](double x) { return std::tgamma(x + 1); }, 0.1, 7},
    {"ndtr", [](double x) { return std::erfc(-x * std::numbers::sqrt2 / 2) / 2; }, -2, 2},
    {"erfcx", [](double x) { return std::exp(x * x) * std::erfc(x); }, -1, 1},
};

TEST(Kernels, FloatFunctions) {
  for (const auto& test : kUnary) {
    for (const DType dtype : kFloats) {
      for (const auto& shape : kShapes) {
        const ShapeDtype type(dtype, shape);
        TestArray x(type);
        for (int64_t i = 0; i < x.size(); ++i) {
          x.set(i, test.low + (test.high - test.low) * (i + 0.37) / static_cast<double>(x.size()));
        }
        const TestArray result = run_kernel(test.name, {x}, type);
        const double ulps = epsilon(dtype) > 1e-6 ? 1 : 4;
        for (int64_t i = 0; i < x.size(); ++i) {
          ASSERT_TRUE(is_close(result, i, test.function(x.real(i)), ulps))
              << test.name << " of " << x.text(i);
        }
        if (x.size() > 0) {
          ASSERT_TRUE(run_in_place(test.name, {x}, 0, type).same_bytes(result)) << test.name;
        }
      }
    }
  }
}

TEST(Kernels, ComplexFunctions) {
  struct Case {
    const char* name;
    Number (*function)(Number);
  };
  const Case cases[] = {
      {"neg", [](Number z) { return -z; }},
      {"sign", [](Number z) { return z / std::abs(z); }},
      {"exp", [](Number z) { return std::exp(z); }},
      {"exp2", [](Number z) { return std::pow(Number(2), z); }},
      {"expm1", [](Number z) { return std::exp(z) - 1.0; }},
      {"log", [](Number z) { return std::log(z); }},
      {"log1p", [](Number z) { return std::log(1.0 + z); }},
      {"sqrt", [](Number z) { return std::sqrt(z); }},
      {"rsqrt", [](Number z) { return 1.0 / std::sqrt(z); }},
      {"sin", [](Number z) { return std::sin(z); }},
      {"cos", [](Number z) { return std::cos(z); }},
      {"tan", [](Number z) { return std::tan(z); }},
      {"asin", [](Number z) { return std::asin(z); }},
      {"acos", [](Number z) { return std::acos(z); }},
      {"atan", [](Number z) { return std::atan(z); }},
      {"sinh", [](Number z) { return std::sinh(z); }},
      {"cosh", [](Number z) { return std::cosh(z); }},
      {"tanh", [](Number z) { return std::tanh(z); }},
      {"asinh", [](Number z) { return std::asinh(z); }},
      {"acosh", [](Number z) { return std::acosh(z); }},
      {"atanh", [](Number z) { return std::atanh(z); }},
      {"logistic", [](Number z) { return 1.0 / (1.0 + std::exp(-z)); }},
      {"square", [](Number z) { return z * z; }},
      {"conj", [](Number z) { return std::conj(z); }},
  };
  for (const DType dtype : {DType::kComplex64, DType::kComplex128}) {
    const ShapeDtype type(dtype, {80});
    TestArray x(type);
    for (int64_t i = 0; i < x.size(); ++i) {
      x.set(i, std::polar(0.05 * static_cast<double>(i + 1), 0.7 * static_cast<double>(i)));
    }
    for (const auto& test : cases) {
      const TestArray result = run_kernel(test.name, {x}, type);
      for (int64_t i = 0; i < x.size(); ++i) {
        EXPECT_TRUE(is_close(result, i, test.function(x.get(i)), 16))
            << test.name << " of " << x.text(i);
      }
    }
    const DType real = dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
    const TestArray abs = run_kernel("abs", {x}, {real, {80}});
    const TestArray re = run_kernel("real", {x}, {real, {80}});
    const TestArray im = run_kernel("imag", {x}, {real, {80}});
    for (int64_t i = 0; i < x.size(); ++i) {
      EXPECT_TRUE(is_close(abs, i, std::abs(x.get(i)), 2));
      EXPECT_EQ(re.real(i), x.get(i).real());
      EXPECT_EQ(im.real(i), x.get(i).imag());
    }
    EXPECT_TRUE(run_kernel("complex", {re, im}, type).same_bytes(x));
  }
  // Small arguments keep their precision.
  const auto z = TestArray::of_numbers(DType::kComplex128, {{1e-10, 1e-5}});
  EXPECT_TRUE(
      is_close(run_kernel("log1p", {z}, z.type()), 0, {1.5e-10, 1e-5 - 1e-15 + -1e-15 / 3}, 1e4));
  EXPECT_TRUE(is_close(run_kernel("expm1", {z}, z.type()), 0, {5e-11, 1e-5 + 1e-15}, 1e6));
}

// ---- two operands

struct BinaryCase {
  const char* name;
  double (*function)(double, double);
};
const BinaryCase kBinary[] = {
    {"add", [](double x, double y) { return x + y; }},
    {"sub", [](double x, double y) { return x - y; }},
    {"mul", [](double x, double y) { return x * y; }},
    {"max", [](double x, double y) { return std::max(x, y); }},
    {"min", [](double x, double y) { return std::min(x, y); }},
};
const BinaryCase kFloatBinary[] = {
    {"div", [](double x, double y) { return x / y; }},
    {"rem", [](double x, double y) { return std::fmod(x, y); }},
    {"pow", [](double x, double y) { return std::pow(x, y); }},
    {"atan2", [](double x, double y) { return std::atan2(x, y); }},
};

// Every pair of 15 values, in full blocks and remainders, with and without scalar operands.
void check_binary(const BinaryCase& test, DType dtype, double ulps) {
  std::mt19937 random(7);
  for (const auto& shape : kShapes) {
    const ShapeDtype type(dtype, shape), scalar(dtype, {});
    const TestArray x = random_array(type, random), y = random_array(type, random);
    const TestArray s = random_array(scalar, random);
    const TestArray all = run_kernel(test.name, {x, y}, type);
    const TestArray left = run_kernel(test.name, {s, y}, type);
    const TestArray right = run_kernel(test.name, {x, s}, type);
    for (int64_t i = 0; i < x.size(); ++i) {
      ASSERT_TRUE(is_close(all, i, test.function(x.real(i), y.real(i)), ulps)) << test.name;
      ASSERT_TRUE(is_close(left, i, test.function(s.real(0), y.real(i)), ulps)) << test.name;
      ASSERT_TRUE(is_close(right, i, test.function(x.real(i), s.real(0)), ulps)) << test.name;
    }
    if (x.size() == 0) continue;
    EXPECT_TRUE(run_in_place(test.name, {x, y}, 0, type).same_bytes(all)) << test.name;
    EXPECT_TRUE(run_in_place(test.name, {x, y}, 1, type).same_bytes(all)) << test.name;
    EXPECT_TRUE(run_in_place(test.name, {x, s}, 0, type).same_bytes(right)) << test.name;
  }
}

TEST(Kernels, FloatBinary) {
  for (const DType dtype : kFloats) {
    for (const auto& test : kBinary) check_binary(test, dtype, 0);
    for (const auto& test : kFloatBinary) check_binary(test, dtype, epsilon(dtype) > 1e-6 ? 1 : 4);
  }
}

TEST(Kernels, IntegerBinaryWraps) {
  std::mt19937 random(3);
  for (const DType dtype : kIntegers) {
    const auto& info = dtype_info(dtype);
    const ShapeDtype type(dtype, {600});
    const TestArray x = random_array(type, random, 127), y = random_array(type, random, 127);
    const auto check = [&](const char* name, auto function) {
      const TestArray result = run_kernel(name, {x, y}, type);
      for (int64_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(result.real(i), wrapped(info, function(x.real(i), y.real(i))))
            << name << " " << info.name << " " << x.text(i) << " " << y.text(i);
      }
    };
    for (const auto& test : kBinary) check(test.name, test.function);
    const double all_bits = info.kind == DTypeKind::kSigned ? -1 : std::ldexp(1.0, info.bits) - 1;
    if (info.bits < 64) {
      check("div", [&](double a, double b) { return b == 0 ? all_bits : std::trunc(a / b); });
    }
    check("rem", [](double a, double b) { return b == 0 ? a : std::fmod(a, b); });
    check("and", [](double a, double b) { return double(int64_t(a) & int64_t(b)); });
    check("or", [](double a, double b) { return double(int64_t(a) | int64_t(b)); });
    check("xor", [](double a, double b) { return double(int64_t(a) ^ int64_t(b)); });
    const int bits = info.bits;
    // A negative count, or one that is at least the width, shifts everything out.
    check("shift_left", [&](double a, double n) {
      if (n < 0 || n >= bits) return 0.0;
      const uint64_t shifted = uint64_t(int64_t(a)) << int(n);
      return info.kind == DTypeKind::kSigned ? double(int64_t(shifted)) : double(shifted);
    });
    check("shift_right_logical", [bits](double a, double n) {
      if (n < 0 || n >= bits) return 0.0;
      const auto value = uint64_t(int64_t(a)) & (~uint64_t{0} >> (64 - bits));
      const auto shifted = value >> int(n);
      return n == 0 && bits == 64 ? a : double(shifted);
    });
    check("shift_right_arithmetic", [&](double a, double n) {
      if (info.kind == DTypeKind::kUnsigned && a >= std::ldexp(1.0, bits - 1)) {
        a -= std::ldexp(1.0, bits);
      }
      return n < 0 || n >= bits ? (a < 0 ? -1.0 : 0.0) : double(int64_t(a) >> int(n));
    });
  }
}

TEST(Kernels, IntegerUnary) {
  std::mt19937 random(5);
  for (const DType dtype : kIntegers) {
    const auto& info = dtype_info(dtype);
    const ShapeDtype type(dtype, {300});
    const TestArray x = random_array(type, random, 127);
    const auto check = [&](const char* name, auto function, const ParamsPtr& params = nullptr) {
      const TestArray result = run_kernel(name, {x}, type, params);
      for (int64_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(result.real(i), wrapped(info, function(x.real(i))))
            << name << " " << info.name << " " << x.text(i);
      }
    };
    check("neg", [](double a) { return -a; });
    check("sign", [](double a) { return (a > 0) - (a < 0); });
    check("square", [](double a) { return a * a; });
    check("not", [](double a) { return -a - 1; });
    check("abs", [](double a) { return std::fabs(a); });
    const uint64_t mask = ~uint64_t{0} >> (64 - info.bits);
    check("population_count", [&](double a) { return std::popcount(uint64_t(int64_t(a)) & mask); });
    check("clz", [&](double a) {
      return std::countl_zero(uint64_t(int64_t(a)) & mask) - (64 - info.bits);
    });
    check(
        "integer_pow", [](double a) { return a * a * a; }, make_params(IntegerPowParams{.y = 3}));
    check(
        "integer_pow", [](double) { return 1; }, make_params(IntegerPowParams{.y = 0}));
  }
}

TEST(Kernels, ComplexBinary) {
  std::mt19937 random(11);
  for (const DType dtype : {DType::kComplex64, DType::kComplex128}) {
    const ShapeDtype type(dtype, {200});
    const TestArray x = random_array(type, random), y = random_array(type, random);
    const auto check = [&](const char* name, auto function) {
      const TestArray result = run_kernel(name, {x, y}, type);
      for (int64_t i = 0; i < x.size(); ++i) {
        ASSERT_TRUE(is_close(result, i, function(x.get(i), y.get(i)), 8)) << name;
      }
    };
    check("add", [](Number a, Number b) { return a + b; });
    check("sub", [](Number a, Number b) { return a - b; });
    check("mul", [](Number a, Number b) { return a * b; });
    const TestArray equal = run_kernel("eq", {x, x}, {DType::kBool, {200}});
    const TestArray differs = run_kernel("ne", {x, x}, {DType::kBool, {200}});
    for (int64_t i = 0; i < 200; ++i) {
      EXPECT_EQ(equal.real(i), 1);
      EXPECT_EQ(differs.real(i), 0);
    }
  }
  using List = std::vector<std::string>;
  const auto x = TestArray::of_numbers(DType::kComplex64, {{1, 2}, {1, 1}});
  const auto y = TestArray::of_numbers(DType::kComplex64, {{1, 1}, {2, 0}});
  EXPECT_EQ(run_kernel("max", {x, y}, x.type()).texts(), (List{"(1.0+2.0j)", "(2.0+0.0j)"}));
  EXPECT_EQ(run_kernel("min", {x, y}, x.type()).texts(), (List{"(1.0+1.0j)", "(1.0+1.0j)"}));
  EXPECT_EQ(run_kernel("div", {x, y}, x.type()).texts(), (List{"(1.5+0.5j)", "(0.5+0.5j)"}));
}

TEST(Kernels, Comparisons) {
  struct Case {
    const char* name;
    bool (*function)(double, double);
  };
  const Case cases[] = {
      {"eq", [](double x, double y) { return x == y; }},
      {"ne", [](double x, double y) { return x != y; }},
      {"lt", [](double x, double y) { return x < y; }},
      {"le", [](double x, double y) { return x <= y; }},
      {"gt", [](double x, double y) { return x > y; }},
      {"ge", [](double x, double y) { return x >= y; }},
  };
  std::mt19937 random(1);
  for (const auto& info : all_dtypes()) {
    if (info.kind == DTypeKind::kComplex || info.kind == DTypeKind::kToken) continue;
    const ShapeDtype type(info.dtype, {530}), result_type(DType::kBool, {530});
    const TestArray x = random_array(type, random, 3), y = random_array(type, random, 3);
    const TestArray s = random_array(ShapeDtype(info.dtype, {}), random, 3);
    for (const auto& test : cases) {
      const TestArray result = run_kernel(test.name, {x, y}, result_type);
      const TestArray scalar = run_kernel(test.name, {s, y}, result_type);
      for (int64_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(result.real(i), test.function(x.real(i), y.real(i)))
            << test.name << " " << info.name;
        ASSERT_EQ(scalar.real(i), test.function(s.real(0), y.real(i)))
            << test.name << " " << info.name;
      }
    }
  }
  const double nan = NAN;
  const TestArray x(DType::kFloat32, {nan, 0.0}), y(DType::kFloat32, {nan, -0.0});
  EXPECT_EQ(run_kernel("eq", {x, y}, {DType::kBool, {2}}).texts(),
            (std::vector<std::string>{"False", "True"}));
  // The output overwrites the scalar.
  const TestArray four(DType::kInt8, {1, 2, 3, 4});
  const TestArray one(ShapeDtype(DType::kInt8, {}), std::vector<double>{2});
  EXPECT_EQ(run_in_place("lt", {four, one}, 0, {DType::kBool, {4}}).texts(),
            (std::vector<std::string>{"True", "False", "False", "False"}));
}

}  // namespace
}  // namespace farcall::native::testing
