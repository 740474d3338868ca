// Samples: their ranges, moments, shapes and derivatives, and equality of all ways to run them.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/control_flow.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/loops.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/random/random.h>
#include <farcall/trace/derivatives.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/vmap.h>

#include "array_testing.h"

namespace farcall {
namespace {

using testing::HasSubstr;

constexpr int64_t kMany = 20000;
const Shape kShape = {kMany};

struct Law {
  const char* name;
  std::function<Array(const Array&)> draw;
  double mean, variance;
};

// Within five standard errors; the key is fixed.
TEST(Samples, HaveTheMomentsOfTheirLaw) {
  using namespace random;
  const double euler = 0.5772156649015329, pi = 3.141592653589793;
  const Law laws[] = {
      {"uniform", [](const Array& k) { return uniform(k, kShape, DType::kFloat32, -1, 3); }, 1,
       16.0 / 12},
      {"normal", [](const Array& k) { return normal(k, kShape); }, 0, 1},
      {"normal f64", [](const Array& k) { return normal(k, kShape, DType::kFloat64); }, 0, 1},
      {"exponential", [](const Array& k) { return exponential(k, kShape); }, 1, 1},
      {"gumbel", [](const Array& k) { return gumbel(k, kShape); }, euler, pi * pi / 6},
      {"laplace", [](const Array& k) { return laplace(k, kShape); }, 0, 2},
      {"logistic", [](const Array& k) { return logistic(k, kShape); }, 0, pi * pi / 3},
      {"rayleigh", [](const Array& k) { return rayleigh(k, 1.0, kShape); }, std::sqrt(pi / 2),
       2 - pi / 2},
      {"maxwell", [](const Array& k) { return maxwell(k, kShape); }, 2 * std::sqrt(2 / pi),
       3 - 8 / pi},
      {"gamma", [](const Array& k) { return gamma(k, 2.5, kShape); }, 2.5, 2.5},
      {"gamma below 1", [](const Array& k) { return gamma(k, 0.25, kShape); }, 0.25, 0.25},
      {"beta", [](const Array& k) { return beta(k, 2.0, 3.0, kShape); }, 0.4, 0.04},
      {"chisquare", [](const Array& k) { return chisquare(k, 3.0, kShape); }, 3, 6},
      {"t", [](const Array& k) { return t(k, 9.0, kShape); }, 0, 9.0 / 7},
      {"wald", [](const Array& k) { return wald(k, 0.5, kShape); }, 0.5, 0.125},
      {"triangular", [](const Array& k) { return triangular(k, 0.0, 1.0, 2.0, kShape); }, 1,
       1.0 / 6},
      {"poisson", [](const Array& k) { return poisson(k, 4.0, kShape); }, 4, 4},
      {"poisson of a large mean", [](const Array& k) { return poisson(k, 50.0, kShape); }, 50, 50},
      {"binomial", [](const Array& k) { return binomial(k, 10, 0.3, kShape); }, 3, 2.1},
      {"binomial of many", [](const Array& k) { return binomial(k, 100, 0.75, kShape); }, 75,
       18.75},
      {"geometric", [](const Array& k) { return geometric(k, 0.5, kShape); }, 2, 2},
      {"bernoulli", [](const Array& k) { return bernoulli(k, 0.25, kShape); }, 0.25, 0.1875},
      {"rademacher", [](const Array& k) { return rademacher(k, kShape); }, 0, 1},
      {"randint", [](const Array& k) { return randint(k, kShape, -5, 6); }, 0, 10},
  };
  for (const Law& law : laws) {
    const std::vector<double> x = doubles(law.draw(key(99)));
    ASSERT_EQ(x.size(), kMany) << law.name;
    double mean = 0, variance = 0;
    for (const double each : x) mean += each / kMany;
    for (const double each : x) variance += (each - mean) * (each - mean) / kMany;
    EXPECT_NEAR(mean, law.mean, 5 * std::sqrt(law.variance / kMany)) << law.name;
    EXPECT_NEAR(variance, law.variance, 0.12 * law.variance) << law.name;
  }
}

TEST(Samples, HaveTheShapeOfTheirParametersOrTheGivenOne) {
  using namespace random;
  const Array k = key(0), a = Array::of<float>({1, 2, 3});
  EXPECT_EQ(gamma(k, a).type(), ShapeDtype(DType::kFloat32, {3}));
  EXPECT_EQ(gamma(k, a, Shape{2, 3}).type(), ShapeDtype(DType::kFloat32, {2, 3}));
  EXPECT_EQ(gamma(k, a, Shape{0, 3}).size(), 0);
  EXPECT_EQ(beta(k, a, numpy::reshape(a, {3, 1})).type(), ShapeDtype(DType::kFloat32, {3, 3}));
  EXPECT_EQ(dirichlet(k, a, Shape{5}).type(), ShapeDtype(DType::kFloat32, {5, 3}));
  EXPECT_EQ(categorical(k, a, {.shape = Shape{4}}).type(), ShapeDtype(DType::kInt32, {4}));
  EXPECT_EQ(choice(k, a, {2, 2}).type(), ShapeDtype(DType::kFloat32, {2, 2}));
  EXPECT_EQ(choice(k, 9, {2}).type(), ShapeDtype(DType::kInt32, {2}));
  EXPECT_EQ(orthogonal(k, 2, {3}, DType::kFloat64, 4).type(),
            ShapeDtype(DType::kFloat64, {3, 2, 4}));
  EXPECT_EQ(ball(k, 3, 2.0, {2}).type(), ShapeDtype(DType::kFloat32, {2, 3}));
  EXPECT_EQ(multinomial(k, 5, a / 6.0).type(), ShapeDtype(DType::kFloat32, {3}));
}

TEST(Samples, PermutationsHaveEachElementOnce) {
  std::vector<double> x = doubles(random::permutation(random::key(1), 1000));
  EXPECT_FALSE(std::ranges::is_sorted(x));
  std::ranges::sort(x);
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(x[i], static_cast<double>(i));
}

// Eager, compiled, mapped over several keys, and in a loop.
TEST(Samples, EveryWayGivesTheSame) {
  using namespace random;
  const std::function<Array(const Array&)> draws[] = {
      [](const Array& k) { return bits(k, {5}); },
      [](const Array& k) { return normal(k, {5}); },
      [](const Array& k) { return gamma(k, 0.7, Shape{5}); },
      [](const Array& k) { return poisson(k, 3.0, Shape{5}); },
      [](const Array& k) { return binomial(k, 20, 0.4, Shape{5}); },
      [](const Array& k) { return permutation(k, 9); },
      [](const Array& k) { return choice(k, 9, {3}, {.replace = false}); },
  };
  const Array keys = split(key(4), {3});
  for (const auto& draw : draws) {
    const auto call = [&](const Array& k) { return draw(k); };
    const Array all = vmap(call)(keys), looped = lax::map(call, keys);
    for (int64_t i = 0; i < 3; ++i) {
      const Array one = numpy::take(keys, {i});
      const std::vector<double> expected = doubles(draw(one));
      EXPECT_EQ(doubles(jit(call)(one)), expected);
      EXPECT_EQ(doubles(numpy::take(all, {i})), expected);
      EXPECT_EQ(doubles(numpy::take(looped, {i})), expected);
    }
  }
}

// For samples of one key, the value of the distribution function does not depend on the parameter.
TEST(Samples, OfGammaHaveADerivativeByTheParameter) {
  const Array a = Array::of<double>({0.3, 1, 2.5, 20});
  for (const bool is_log : {false, true}) {
    const auto draw = [&](const Array& x) {
      const Array k = random::key(8);
      return is_log ? random::loggamma(k, x, {}, DType::kFloat64)
                    : random::gamma(k, x, {}, DType::kFloat64);
    };
    const auto [sample, slope] = jvp(draw, std::tuple(a), std::tuple(numpy::ones_like(a)));
    const Array x = is_log ? lax::exp(sample) : sample;
    const Array dx = is_log ? slope * x : slope;
    const Array density = lax::exp((a - 1.0) * lax::log(x) - x - lax::lgamma(a));
    for (const double rest : doubles(lax::igamma_grad_a(a, x) + density * dx)) {
      EXPECT_NEAR(rest, 0, 1e-10);
    }
    const Array gradient = grad([&](const Array& y) { return numpy::sum(draw(y)); })(a);
    EXPECT_EQ(doubles(gradient), doubles(slope));
  }
}

TEST(Samples, NarrowIntegersReachTheirLargest) {
  const Array x = random::randint(random::key(0), {5000}, 0, 256, DType::kUInt8);
  std::vector<bool> is_there(256);
  for (const uint8_t value : x.values<uint8_t>()) is_there[value] = true;
  EXPECT_EQ(std::ranges::count(is_there, true), 256);
}

TEST(Samples, ArgumentsThatDoNotFitAreRefused) {
  using namespace random;
  const Array k = key(0), a = Array::of<float>({1, 2, 3});
  EXPECT_THAT(message_of([&] { normal(Array(1.0)); }), HasSubstr("normal: key must be a key"));
  EXPECT_THAT(message_of([&] { normal(split(k)); }), HasSubstr("takes a single key"));
  EXPECT_THAT(message_of([&] { normal(k, {-1}); }), HasSubstr("normal: shape must have sizes"));
  EXPECT_THAT(message_of([&] { normal(k, {}, DType::kInt32); }), HasSubstr("float or complex"));
  EXPECT_THAT(message_of([&] { gamma(k, a, Shape{2}); }), HasSubstr("gamma: "));
  EXPECT_THAT(message_of([&] { gamma(k, a, Shape{}); }),
              HasSubstr("parameters of shapes [3] do not broadcast to shape []"));
  EXPECT_THAT(message_of([&] { beta(k, numpy::astype(a, DType::kFloat64), a); }),
              HasSubstr("a parameter of dtype float64 does not fit into dtype float32"));
  EXPECT_THAT(message_of([&] { choice(k, a, {4}, {.replace = false}); }),
              HasSubstr("4 entries cannot be drawn from 3"));
  EXPECT_THAT(message_of([&] {
                choice(k, 3, {4}, {.p = Array::of<float>({1, 2})});
              }),
              HasSubstr("a probability for each of the 3 entries"));
  EXPECT_THAT(message_of([&] { key_dtype("rbg"); }), HasSubstr("available: \"threefry2x32\""));
  EXPECT_THAT(message_of([&] { categorical(k, Array(1.0)); }), HasSubstr("got a scalar"));
  EXPECT_THAT(message_of([&] { multivariate_normal(k, a, a); }), HasSubstr("cov a matrix"));
}

}  // namespace
}  // namespace farcall
