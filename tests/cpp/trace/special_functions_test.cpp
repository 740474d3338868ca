// Special functions, activations, ranges, quantiles and interpolation from C++. Their values at
// many points are compared in tests/python/values.
#include <farcall/ops/special_functions.h>

#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

#include <farcall/nn/activations.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/trace/derivatives.h>

#include "arrays.h"

namespace farcall {
namespace {

using testing::error_of;
using testing::kInf;
using testing::values;

TEST(SpecialFunctions, ValuesKnownInClosedForm) {
  const auto at = [](Array (*function)(const Array&), double x) {
    return values<double>(function(Array::scalar(x)))[0];
  };
  const double root_of_pi = std::sqrt(std::numbers::pi);
  EXPECT_DOUBLE_EQ(at(special::gamma, 0.5), root_of_pi);
  EXPECT_DOUBLE_EQ(at(special::gamma, -1.5), root_of_pi * 4 / 3);
  EXPECT_EQ(at(special::factorial, 5), 120);
  EXPECT_EQ(at(special::factorial, -2), 0);
  EXPECT_DOUBLE_EQ(at(special::factorial, -1.5), -2 * root_of_pi);
  EXPECT_EQ(at(special::ndtr, 0), 0.5);
  EXPECT_EQ(at(special::ndtri, 0.5), 0);
  EXPECT_TRUE(std::isnan(at(special::ndtri, 1.5)));
  EXPECT_DOUBLE_EQ(at(special::log_ndtr, -1e10), -5e19);
  EXPECT_DOUBLE_EQ(at(special::logit, 0.75), std::log(3.0));
  EXPECT_EQ(at(special::gammasgn, -0.5), -1);
  EXPECT_DOUBLE_EQ(values<double>(special::beta(Array::scalar(2.0), Array::scalar(3.0)))[0],
                   1.0 / 12);
  EXPECT_DOUBLE_EQ(values<double>(special::zeta(Array::scalar(2.0), Array::scalar(1.0)))[0],
                   std::numbers::pi * std::numbers::pi / 6);
}

TEST(SpecialFunctions, IntegersBecomeFloatsAndComplexNumbersAreRefused) {
  EXPECT_EQ(special::gamma(Array::scalar(4)).dtype(), DType::kFloat32);
  const Array z = Array::scalar(std::complex<float>(1, 2));
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { special::gamma(z); }),
            "gamma: takes floats; got c64[]");
}

TEST(SpecialFunctions, EntropiesOfNearNumbersKeepTheirDigits) {
  const Array p = Array::scalar(1.0), q = Array::scalar(1.0 + 1e-12);
  const double distance = (1.0 + 1e-12) - 1.0;
  EXPECT_DOUBLE_EQ(values<double>(special::rel_entr(p, q))[0], -std::log1p(distance));
  EXPECT_EQ(values<double>(special::rel_entr(Array::scalar(-1.0), q))[0], kInf);
}

TEST(Activations, OfLargeNumbers) {
  const Array x = Array::of<float>({-1e30F, -10, 0, 1e30F});
  const std::vector<float> plus = values<float>(nn::squareplus(x));
  EXPECT_FLOAT_EQ(plus[0], 1e-30F);
  EXPECT_FLOAT_EQ(plus[1], 0.099019514F);
  EXPECT_EQ(plus[2], 1);
  EXPECT_EQ(plus[3], 1e30F);
  EXPECT_FLOAT_EQ(values<float>(nn::gelu(x))[3], 1e30F);
  EXPECT_FLOAT_EQ(values<float>(nn::gelu(Array::scalar(-3.0F)))[0], -0.003637392F);
  EXPECT_EQ(nn::gelu(numpy::astype(x, DType::kFloat16)).dtype(), DType::kFloat16);
}

TEST(Ranges, EndsAreExact) {
  EXPECT_EQ(numpy::linspace(0.0, kInf, 3).to_string(), "[0.0, inf, inf]");
  const auto tenths = values<double>(numpy::linspace(0.1, 0.3, 3, true, DType::kFloat64));
  EXPECT_EQ(tenths, (std::vector<double>{0.1, 0.2, 0.3}));
  EXPECT_EQ(numpy::geomspace(1, 1000, 4).to_string(), "[1.0, 10.0, 100.0, 1000.0]");
  EXPECT_EQ(numpy::logspace(0, 3, 4, true, 2.0).to_string(), "[1.0, 2.0, 4.0, 8.0]");
  EXPECT_EQ(numpy::arange(2046, 2052, 1, DType::kFloat16).to_string(),
            "[2046.0, 2047.0, 2048.0, 2048.0, 2050.0, 2052.0]");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { numpy::linspace(0, 1, -1); }),
            "linspace: num must not be negative, got -1");
}

TEST(Quantiles, OfVectorsAndMatrices) {
  const Array x = Array::of<float>({3, 1, 2, 6, 5, 4}, {2, 3});
  EXPECT_EQ(numpy::median(x, 1).to_string(), "[2.0, 5.0]");
  EXPECT_EQ(numpy::quantile(x, 0.25).to_string(), "2.25");
  EXPECT_EQ(numpy::percentile(x, 30, {.method = numpy::QuantileMethod::kHigher}).to_string(),
            "3.0");
  const Array parts = Array::of<float>({0, 1});
  EXPECT_EQ(numpy::quantile(x, parts, {.axes = 0, .keepdims = true}).to_string(),
            "[[[3.0, 1.0, 2.0]], [[6.0, 5.0, 4.0]]]");
}

TEST(Lines, SearchInterpolateAndDifferentiate) {
  const Array xp = Array::of<float>({0, 1, 3}), fp = Array::of<float>({0, 10, -10});
  EXPECT_EQ(numpy::searchsorted(xp, xp).to_string(), "[0, 1, 2]");
  EXPECT_EQ(numpy::searchsorted(xp, xp, true).to_string(), "[1, 2, 3]");
  EXPECT_EQ(numpy::interp(Array::of<float>({-1, 0.5, 2, 9}), xp, fp).to_string(),
            "[0.0, 5.0, 0.0, -10.0]");
  EXPECT_EQ(numpy::gradient(fp, xp, 0).to_string(), "[10.0, 3.3333333, -10.0]");
  EXPECT_EQ(numpy::gradient(fp, 2.0, 0).to_string(), "[5.0, -2.5, -10.0]");
}

TEST(WholeNumbers, DivisorsOfTheLowestInteger) {
  const Array lowest = Array::of<int8_t>({-128, -128, 12});
  EXPECT_EQ(numpy::gcd(lowest, Array::of<int8_t>({6, 0, 18})).to_string(), "[2, -128, 6]");
  EXPECT_EQ(numpy::lcm(Array::of<int32_t>({-4, 0}), Array::of<int32_t>({6, 3})).to_string(),
            "[12, 0]");
}

}  // namespace
}  // namespace farcall
