// Distributions compared with closed forms, and their functions with each other.
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/scipy/stats.h>

#include "array_testing.h"

namespace farcall {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kPi = std::numbers::pi;

double number(const Array& x) {
  return lax::convert_element_type(x, DType::kFloat64).values<double>()[0];
}
Array f64(double value) { return Array::scalar(value); }

struct Value {
  const char* name;
  Array found;
  double expected;
};

TEST(Distributions, HaveTheirClosedForms) {
  using namespace stats;
  const Array x = f64(0.3);
  const double e = std::exp(-0.3);
  const Value rows[] = {
      {"bernoulli", bernoulli::pmf(f64(1), 0.3), 0.3},
      {"bernoulli.cdf", bernoulli::cdf(f64(0), 0.3), 0.7},
      {"bernoulli.ppf", bernoulli::ppf(f64(0.9), 0.3), 1},
      {"beta", beta::pdf(x, 2, 3), 12 * 0.3 * 0.49},
      {"beta.cdf", beta::cdf(x, 1, 2), 1 - 0.49},
      {"betabinom", betabinom::pmf(f64(1), 3, 1, 1), 0.25},
      {"binom", binom::pmf(f64(1), 3, 0.5), 3.0 / 8},
      {"cauchy", cauchy::pdf(x), 1 / (kPi * 1.09)},
      {"cauchy.cdf", cauchy::cdf(x), 0.5 + std::atan(0.3) / kPi},
      {"chi2", chi2::pdf(x, 2), 0.5 * std::exp(-0.15)},
      {"expon", expon::pdf(x, 0, 2), std::exp(-0.15) / 2},
      {"expon.logcdf", expon::logcdf(x), std::log(1 - e)},
      {"gamma", gamma::pdf(x, 2), 0.3 * e},
      {"gennorm", gennorm::pdf(x, 1), e / 2},
      {"geom", geom::pmf(f64(3), 0.5), 0.125},
      {"gumbel_l", gumbel_l::pdf(f64(-0.3)), std::exp(0.3 * -1 - e)},
      {"gumbel_r", gumbel_r::pdf(x), std::exp(-0.3 - e)},
      {"gumbel_r.cdf", gumbel_r::cdf(x), std::exp(-e)},
      {"laplace", laplace::pdf(x), e / 2},
      {"laplace.cdf", laplace::cdf(x), 1 - e / 2},
      {"logistic", logistic::pdf(x), e / (1 + e) / (1 + e)},
      {"nbinom", nbinom::pmf(f64(2), 1, 0.5), 0.125},
      {"norm", norm::pdf(x, 0.1, 2), std::exp(-0.005) / std::sqrt(8 * kPi)},
      {"norm.isf", norm::isf(norm::sf(x, 0.1, 2), 0.1, 2), 0.3},
      {"pareto", pareto::pdf(f64(2), 3), 3.0 / 16},
      {"poisson", poisson::pmf(f64(2), 3), 4.5 * std::exp(-3)},
      {"poisson.cdf", poisson::cdf(f64(1), 3), 4 * std::exp(-3)},
      {"t", t::pdf(x, 1), 1 / (kPi * 1.09)},
      {"truncnorm", truncnorm::cdf(f64(0), -1, 1), 0.5},
      {"truncnorm.sf", truncnorm::sf(f64(1), -1, 1), 0},
      {"uniform", uniform::pdf(x, 0, 4), 0.25},
      {"vonmises", vonmises::pdf(f64(0), 1e-13), 1 / (2 * kPi)},
      {"wrapcauchy", wrapcauchy::pdf(f64(0), 0.5), 3 / (2 * kPi)},
      {"dirichlet", dirichlet::pdf(Array::of<double>({0.3, 0.7}), Array::of<double>({2, 1})), 0.6},
      {"multinomial",
       multinomial::pmf(Array::of<int32_t>({1, 2}), 3, Array::of<double>({0.5, 0.5})), 3.0 / 8},
      {"multivariate_normal",
       multivariate_normal::pdf(Array::of<double>({1, 2}), 0,
                                Array::of<double>({4, 0, 0, 1}, {2, 2})),
       std::exp(-0.125 - 2) / (4 * kPi)},
  };
  for (const Value& row : rows) EXPECT_NEAR(number(row.found), row.expected, 1e-12) << row.name;
}

TEST(Distributions, InvertTheirOwnFunctions) {
  using namespace stats;
  const Array q = f64(0.3);
  const Value rows[] = {
      {"cauchy", cauchy::cdf(cauchy::ppf(q)), 0.3},
      {"expon", expon::cdf(expon::ppf(q)), 0.3},
      {"gumbel_l", gumbel_l::cdf(gumbel_l::ppf(q)), 0.3},
      {"gumbel_r", gumbel_r::cdf(gumbel_r::ppf(q)), 0.3},
      {"logistic", logistic::cdf(logistic::ppf(q)), 0.3},
      {"norm", norm::cdf(norm::ppf(q)), 0.3},
      {"pareto", pareto::cdf(pareto::ppf(q, 2), 2), 0.3},
      {"uniform", uniform::cdf(uniform::ppf(q)), 0.3},
  };
  for (const Value& row : rows) EXPECT_NEAR(number(row.found), row.expected, 1e-14) << row.name;
}

TEST(Distributions, SayWhatIsOutside) {
  using namespace stats;
  EXPECT_EQ(number(expon::pdf(f64(-1))), 0);
  EXPECT_EQ(number(uniform::logpdf(f64(2))), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(number(uniform::ppf(f64(2)))));
  EXPECT_EQ(norm::pdf(Array::of<int32_t>({1, 2})).type().to_string(), "f32[2]");
  EXPECT_THAT(message_of([] { dirichlet::pdf(f64(1), f64(1)); }),
              HasSubstr("dirichlet.logpdf: alpha must be a vector"));
  EXPECT_THAT(message_of([] {
                multivariate_normal::pdf(Array::of<double>({1, 2}), Array::of<double>({1, 2}),
                                         numpy::eye(3));
              }),
              HasSubstr("multivariate_normal.logpdf: cov must be [..., 2, 2]"));
}

TEST(Samples, HaveModesRanksAndErrors) {
  const Array x = Array::of<double>({3, 1, 3, 2, 1, 3});
  const stats::Mode found = stats::mode(x);
  EXPECT_EQ(number(found.mode), 3);
  EXPECT_EQ(number(found.count), 3);
  EXPECT_THAT(doubles(stats::rankdata(x)), ElementsAre(5, 1.5, 5, 3, 1.5, 5));
  EXPECT_THAT(doubles(stats::rankdata(x, "dense")), ElementsAre(3, 1, 3, 2, 1, 3));
  EXPECT_THAT(doubles(stats::rankdata(x, "ordinal")), ElementsAre(4, 1, 5, 3, 2, 6));
  EXPECT_NEAR(number(stats::sem(Array::of<double>({1, 3}))), 1, 1e-15);
  EXPECT_THAT(message_of([&] { stats::rankdata(x, "first"); }),
              HasSubstr("rankdata: method must be one of ('average', 'min', 'max', 'dense', "
                        "'ordinal'), got 'first'"));
}

}  // namespace
}  // namespace farcall
