// Activations, functions along axes and initializers, compared with closed forms.
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/nn/activations.h>
#include <farcall/nn/initializers.h>
#include <farcall/nn/normalization.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/random/random.h>

#include "array_testing.h"

namespace farcall {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

auto near(const std::vector<double>& expected, double tolerance = 1e-12) {
  return Pointwise(DoubleNear(tolerance), expected);
}

struct Activation {
  const char* name;
  Array (*function)(const Array&);
  double (*expected)(double);
};
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

const Activation kActivations[] = {
    {"relu", nn::relu, [](double x) { return x > 0 ? x : 0; }},
    {"relu6", nn::relu6, [](double x) { return std::fmin(std::fmax(x, 0), 6); }},
    {"sigmoid", nn::sigmoid, sigmoid},
    {"log_sigmoid", nn::log_sigmoid, [](double x) { return std::log(sigmoid(x)); }},
    {"softplus", nn::softplus, [](double x) { return std::log1p(std::exp(x)); }},
    {"hard_tanh", nn::hard_tanh, [](double x) { return std::fmin(std::fmax(x, -1), 1); }},
    {"hard_sigmoid", nn::hard_sigmoid,
     [](double x) { return std::fmin(std::fmax(x + 3, 0), 6) / 6; }},
    {"hard_silu", nn::hard_silu,
     [](double x) { return x * std::fmin(std::fmax(x + 3, 0), 6) / 6; }},
    {"leaky_relu", [](const Array& x) { return nn::leaky_relu(x, 0.25); },
     [](double x) { return x > 0 ? x : 0.25 * x; }},
    {"sparse_plus", nn::sparse_plus,
     [](double x) { return x >= 1    ? x
                           : x <= -1 ? 0
                                     : (x + 1) * (x + 1) / 4; }},
    {"sparse_sigmoid", nn::sparse_sigmoid,
     [](double x) { return std::fmin(std::fmax((x + 1) / 2, 0), 1); }},
};

TEST(Activations, HaveTheirClosedForms) {
  const std::vector<double> points = {-8, -2.5, -1, -0.25, 0, 0.25, 1, 2.5, 8};
  const Array x = Array::of<double>(points, {{9}});
  for (const Activation& row : kActivations) {
    std::vector<double> expected;
    for (const double point : points) expected.push_back(row.expected(point));
    EXPECT_THAT(doubles(row.function(x)), Pointwise(DoubleNear(1e-14), expected)) << row.name;
    EXPECT_EQ(row.function(numpy::astype(x, DType::kFloat16)).dtype(), DType::kFloat16) << row.name;
  }
}

TEST(Activations, KeepIntegersWhereTheyCan) {
  const Array x = Array::of<int32_t>({-3, 0, 9});
  EXPECT_EQ(nn::relu(x).dtype(), DType::kInt32);
  EXPECT_EQ(nn::hard_tanh(x).dtype(), DType::kInt32);
  EXPECT_EQ(nn::sigmoid(x).dtype(), DType::kFloat32);
}

TEST(Glu, GatesTheFirstHalf) {
  const Array x = Array::of<double>({1, 2, 0, std::log(3.0)}, {1, 4});
  EXPECT_THAT(doubles(nn::glu(x)), near({0.5, 1.5}));
}

// ---- along an axis

TEST(Softmax, SumsToOneAndDoesNotOverflow) {
  const Array x = Array::of<double>({1000, 1000 + std::log(3.0), 0, 0}, {2, 2});
  EXPECT_THAT(doubles(nn::softmax(x)), near({0.25, 0.75, 0.5, 0.5}));
  EXPECT_THAT(doubles(nn::log_softmax(x))[0], DoubleNear(std::log(0.25), 1e-12));
  const Array counts = Array::of<bool>({true, false, true, true}, {2, 2});
  EXPECT_THAT(doubles(nn::softmax(x, -1, counts)), near({1, 0, 0.5, 0.5}));
  EXPECT_EQ(doubles(nn::log_softmax(x, -1, counts))[1], -kInfinity);
  EXPECT_THAT(message_of([&] { nn::softmax(x, 2); }),
              HasSubstr("softmax: axis 2 is out of range for an array of rank 2"));
}

TEST(LogSumExp, TakesFactorsSignsAndMasks) {
  const Array x = Array::of<double>({0, std::log(3.0)});
  EXPECT_THAT(doubles(nn::logsumexp(x)), near({std::log(4.0)}));
  const Array b = Array::of<double>({1, -1});
  const auto [logarithm, sign] = nn::signed_logsumexp(x, {}, {.b = b});
  EXPECT_THAT(doubles(logarithm), near({std::log(2.0)}));
  EXPECT_THAT(doubles(sign), near({-1.0}));
  const Array counts = Array::of<bool>({true, false});
  EXPECT_THAT(doubles(nn::logsumexp(x, 0, {.where = counts})), near({0.0}));
  EXPECT_THAT(doubles(nn::logmeanexp(x)), near({std::log(2.0)}));
  EXPECT_THAT(doubles(nn::logmeanexp(x, 0, counts)), near({0.0}));
  EXPECT_EQ(nn::logsumexp(x, 0, {.keepdims = true}).rank(), 1U);
}

TEST(Standardize, HasMeanZeroAndVarianceOne) {
  const Array x = Array::of<double>({1, 3});
  EXPECT_THAT(doubles(nn::standardize(x, -1, {.epsilon = 0.0})), near({-1.0, 1.0}));
  EXPECT_THAT(doubles(nn::standardize(x, -1, {.mean = Array(0.0), .variance = Array(4.0)})),
              near({0.5, 1.5}, 1e-5));
}

TEST(OneHot, MarksThePosition) {
  const Array x = Array::of<int32_t>({2, 0, 5});
  EXPECT_THAT(doubles(nn::one_hot(x, 3)), near({0., 0., 1., 1., 0., 0., 0., 0., 0.}));
  EXPECT_EQ(nn::one_hot(x, 3, DType::kInt8, 0).type().to_string(), "i8[3,3]");
}

// ---- initializers

TEST(Initializers, HaveTheVarianceOfTheirFans) {
  using namespace nn::initializers;
  struct Row {
    const char* name;
    Initializer init;
    double variance;
  };
  const Row rows[] = {
      {"glorot_uniform", glorot_uniform(), 2.0 / 300},
      {"glorot_normal", glorot_normal(), 2.0 / 300},
      {"lecun_uniform", lecun_uniform(), 1.0 / 100},
      {"lecun_normal", lecun_normal(), 1.0 / 100},
      {"he_uniform", he_uniform(), 2.0 / 100},
      {"he_normal", he_normal(), 2.0 / 100},
      {"fan_out", variance_scaling(3.0, "fan_out", "normal"), 3.0 / 200},
      {"in first", variance_scaling(1.0, "fan_in", "normal", {.in = {1}, .out = {0}}), 1.0 / 200},
      {"normal", normal(0.5), 0.25},
      {"uniform", uniform(0.5), 0.25 / 12},
  };
  for (const Row& row : rows) {
    const std::vector<double> values = doubles(row.init(random::key(1), {100, 200}));
    double sum = 0, squares = 0;
    for (const double value : values) sum += value, squares += value * value;
    const double mean = sum / 20000, variance = squares / 20000 - mean * mean;
    EXPECT_NEAR(variance / row.variance, 1, 0.05) << row.name;
    EXPECT_EQ(row.init(random::key(1), {2, 3}, DType::kFloat16).dtype(), DType::kFloat16);
  }
}

TEST(Initializers, MakeOrthogonalColumns) {
  const Array q = nn::initializers::orthogonal(2.0)(random::key(0), {6, 4});
  const Array product = numpy::matmul(numpy::transpose(q), q);
  EXPECT_THAT(doubles(product), Pointwise(DoubleNear(1e-5), doubles(4 * numpy::eye(4))));
  const Array kernel = nn::initializers::delta_orthogonal()(random::key(0), {3, 2, 4});
  const std::vector<double> values = doubles(numpy::square(kernel));
  double inside = 0, all = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    all += values[i];
    if (i >= 8 && i < 16) inside += values[i];
  }
  EXPECT_NEAR(inside, 2, 1e-5);
  EXPECT_EQ(inside, all);
}

TEST(Initializers, RefuseWhatDoesNotFit) {
  using namespace nn::initializers;
  const Array key = random::key(0);
  EXPECT_THAT(message_of([] { variance_scaling(1.0, "fan", "normal"); }),
              HasSubstr("variance_scaling: mode must be one of ('fan_in', 'fan_out', 'fan_avg', "
                        "'fan_geo_avg'), got 'fan'"));
  EXPECT_THAT(message_of([&] { he_normal()(key, {3}); }),
              HasSubstr("must have two dimensions at least"));
  EXPECT_THAT(message_of([&] {
                he_normal({.in = {4}})(key, {3, 3});
              }),
              HasSubstr("axis 4 is out of range"));
  EXPECT_THAT(message_of([&] { orthogonal()(key, {3}); }),
              HasSubstr("must have two dimensions at least"));
  EXPECT_THAT(message_of([&] {
                delta_orthogonal()(key, {3, 4, 2});
              }),
              HasSubstr("more inputs than outputs"));
}

}  // namespace
}  // namespace farcall
