// Functions with special cases, and derivatives of primitives at special points.
#include <farcall/ops/special_cases.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/numpy_statistics.h>
#include <farcall/trace/derivatives.h>

#include "arrays.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::kInf;
using testing::kNaN;
using testing::values;

Array f64(double value) { return Array::scalar(value); }

// The mixed second derivatives: by x then y, and by y then x.
std::vector<double> mixed(Array (*f)(const Array&, const Array&), double x, double y) {
  const auto by_x = [f](const Array& a, const Array& b) { return grad<0>(f)(a, b); };
  const auto by_y = [f](const Array& a, const Array& b) { return grad<1>(f)(a, b); };
  const Array first = grad<1>(by_x)(f64(x), f64(y)), second = grad<0>(by_y)(f64(x), f64(y));
  return {first.item<double>(), second.item<double>()};
}

TEST(SpecialCases, ValuesStayInRange) {
  EXPECT_DOUBLE_EQ(numpy::hypot(f64(3e200), f64(4e200)).item<double>(), 5e200);
  EXPECT_EQ(numpy::hypot(f64(-kInf), f64(kNaN)).item<double>(), kInf);
  EXPECT_EQ(numpy::hypot(f64(0), f64(-0.0)).item<double>(), 0);
  EXPECT_EQ(numpy::logaddexp(f64(1000), f64(-1000)).item<double>(), 1000);
  EXPECT_EQ(numpy::logaddexp(f64(kInf), f64(kInf)).item<double>(), kInf);
  EXPECT_EQ(numpy::logaddexp(f64(-kInf), f64(-kInf)).item<double>(), -kInf);
  EXPECT_TRUE(std::isnan(numpy::logaddexp(f64(kNaN), f64(0)).item<double>()));
  EXPECT_TRUE(std::isnan(numpy::logaddexp2(f64(0), f64(kNaN)).item<double>()));
  EXPECT_EQ(numpy::logaddexp2(f64(3), f64(3)).item<double>(), 4);
  EXPECT_EQ(numpy::sinc(f64(0)).item<double>(), 1);
  EXPECT_EQ(special::xlogy(f64(0), f64(0)).item<double>(), 0);
  EXPECT_EQ(special::xlog1py(f64(0), f64(-1)).item<double>(), 0);
  EXPECT_TRUE(std::isnan(special::xlogy(f64(0), f64(kNaN)).item<double>()));
  EXPECT_EQ(special::entr(f64(-1)).item<double>(), -kInf);
  EXPECT_EQ(special::boxcox(f64(std::numbers::e), f64(0)).item<double>(), 1);
  EXPECT_EQ(special::boxcox1p(f64(-1), f64(2)).item<double>(), -0.5);
}

TEST(SpecialCases, OperandsArePromotedAndBroadcast) {
  const Array x = Array::of<int32_t>({0, 3}), y = Array::of<float>({4});
  EXPECT_THAT(values<float>(numpy::hypot(x, y)), ElementsAre(4, 5));
  EXPECT_EQ(special::xlogy(x, f64(1)).dtype(), DType::kFloat64);
  const Array z = lax::complex(y, y);
  EXPECT_THAT(error_of(ErrorCode::kInvalidArgument, [&] { numpy::hypot(z, y); }),
              HasSubstr("hypot: is not defined for complex numbers, got c64[1]"));
}

TEST(SpecialCases, MixedDerivativesAreThereAtZerosAndTies) {
  EXPECT_THAT(mixed(numpy::power, 2, 0), ElementsAre(0.5, 0.5));
  EXPECT_THAT(mixed(numpy::logaddexp, 1, 1), ElementsAre(-0.25, -0.25));
  const double hypot = -1 / (2 * std::numbers::sqrt2);
  for (const double found : mixed(numpy::hypot, 1, 1)) EXPECT_NEAR(found, hypot, 1e-15);
  EXPECT_THAT(mixed(special::xlogy, 0, 2), ElementsAre(0.5, 0.5));
  EXPECT_THAT(mixed(special::xlog1py, 0, 1), ElementsAre(0.5, 0.5));
  const double boxcox = std::numbers::ln2 / 2;
  for (const double found : mixed(special::boxcox, 2, 0)) EXPECT_NEAR(found, boxcox, 1e-15);
}

TEST(SpecialCases, ADerivativeOfAnEmptyPowerIsZero) {
  const auto first = [](const Array& x) { return grad<0>(numpy::power)(x, f64(0)); };
  EXPECT_EQ(first(f64(0)).item<double>(), 0);
  EXPECT_EQ(grad(first)(f64(0)).item<double>(), 0);
}

// ---- means ----

TEST(Means, OfNarrowFloatsKeepTheirRangeWithEveryOption) {
  const Array x = numpy::full({1000}, 100.0, DType::kFloat16);
  const Array all = numpy::ones({1000}, DType::kBool);
  const numpy::MeanOptions options[] = {
      {}, {.where = all}, {.dtype = DType::kFloat16}, {.keepdims = true}};
  for (const auto& each : options) {
    EXPECT_EQ(numpy::astype(numpy::mean(x, {}, each), DType::kFloat32).values<float>()[0], 100);
    EXPECT_EQ(numpy::mean(x, {}, each).dtype(), DType::kFloat16);
    const numpy::VarOptions spread{each, 1, {}};
    EXPECT_EQ(numpy::astype(numpy::var(x, {}, spread), DType::kFloat32).values<float>()[0], 0);
    EXPECT_EQ(numpy::astype(numpy::std(x, {}, spread), DType::kFloat32).values<float>()[0], 0);
  }
  const auto [mean, weight] = numpy::average(x, {}, x);
  EXPECT_EQ(numpy::astype(mean, DType::kFloat32).item<float>(), 100);
  EXPECT_EQ(weight.dtype(), DType::kFloat16);
}

TEST(Means, CountWhatIsChosen) {
  const Array x = Array::of<double>({1, 2, 3, 10}, {2, 2});
  const Array where = Array::of<bool>({true, false});
  EXPECT_THAT(values<double>(numpy::mean(x, 1, {.where = where})), ElementsAre(1, 3));
  EXPECT_THAT(values<double>(numpy::var(x, 0, {{.where = where}, 1, {}})),
              ElementsAre(2, ::testing::IsNan()));
  const Array mean = Array::of<double>({0, 0}, {1, 2});
  EXPECT_THAT(values<double>(numpy::var(x, 0, {{}, 0, mean})), ElementsAre(5, 52));
  const Array weights = Array::of<double>({1, 3});
  EXPECT_THAT(values<double>(numpy::average(x, 1, weights).mean), ElementsAre(1.75, 8.25));
  EXPECT_THAT(values<double>(numpy::average(x, 0).weight), ElementsAre(2, 2));
}

TEST(Means, RefuseWhatDoesNotFit) {
  const Array x = Array::of<double>({1, 2, 3, 10}, {2, 2});
  const auto message = [](auto body) { return error_of(ErrorCode::kInvalidArgument, body); };
  EXPECT_THAT(message([&] {
                numpy::average(x, 0, Array::of<double>({1, 2, 3}));
              }),
              HasSubstr("average: weights must have the shape of f64[2,2]"));
  EXPECT_THAT(message([&] { numpy::mean(x, {}, {.where = numpy::ones({3}, DType::kBool)}); }),
              HasSubstr("mean: "));
  EXPECT_THAT(message([&] {
                numpy::var(lax::complex(x, x), {}, {{.dtype = DType::kFloat32}, 0, {}});
              }),
              HasSubstr("var: dtype must be complex as c128[2,2] is, got f32"));
}

}  // namespace
}  // namespace farcall
