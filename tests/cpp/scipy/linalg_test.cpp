// Linear algebra and signals with scipy's names, compared with closed forms.
#include <cmath>
#include <complex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/numpy/linalg.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/scipy/linalg.h>
#include <farcall/scipy/signal.h>

#include "array_testing.h"

namespace farcall {
namespace {

using testing::HasSubstr;

const Array kLower = Array::of<double>({2, 0, 1, 4}, {2, 2});

struct Row {
  const char* name;
  Array found;
  std::vector<double> expected;
};
void check(const std::vector<Row>& rows, double tolerance = 1e-12) {
  for (const Row& row : rows) {
    const Array wide = lax::convert_element_type(row.found, DType::kFloat64);
    EXPECT_THAT(wide.values<double>(),
                testing::Pointwise(testing::NanSensitiveDoubleNear(tolerance), row.expected))
        << row.name;
  }
}

TEST(ScipyLinalg, SolvesTriangularSystems) {
  using scipy::linalg::Op;
  const Array b = Array::of<int32_t>({2, 9});
  const Array product = numpy::matmul(kLower, numpy::transpose(kLower));
  const auto [factors, pivots, order] = scipy::linalg::lu_factor(kLower);
  check({
      {"lower", scipy::linalg::solve_triangular(kLower, b, {.lower = true}), {1, 2}},
      {"transposed",
       scipy::linalg::solve_triangular(kLower, b, {.op = Op::kTranspose, .lower = true}),
       {-0.125, 2.25}},
      {"unit",
       scipy::linalg::solve_triangular(kLower, b, {.lower = true, .unit_diagonal = true}),
       {2, 7}},
      {"of stacks",
       scipy::linalg::solve_triangular(kLower, numpy::ones({2, 2, 1}), {.lower = true}),
       {0.5, 0.125, 0.5, 0.125}},
      {"cho_solve", scipy::linalg::cho_solve(kLower, true, numpy::matmul(product, b)), {2, 9}},
      {"of the upper factor",
       scipy::linalg::cho_solve(numpy::transpose(kLower), false, numpy::matmul(product, b)),
       {2, 9}},
      {"lu_solve", scipy::linalg::lu_solve(factors, pivots, b), {1, 2}},
      {"of the adjoint", scipy::linalg::lu_solve(factors, pivots, b, Op::kAdjoint), {-0.125, 2.25}},
  });
  EXPECT_THAT(message_of([&] { scipy::linalg::solve_triangular(b, b); }),
              HasSubstr("solve_triangular: takes matrices"));
}

TEST(ScipyLinalg, FactorizesMatrices) {
  const Array tall = Array::of<double>({0, 1, 2, 0, 0, 3}, {3, 2});
  const auto [p, l, u] = scipy::linalg::lu(tall);
  const auto [q, r, order] = scipy::linalg::qr(tall, {.full = false, .pivoting = true});
  check({
      {"p l u", numpy::matmul(numpy::matmul(p, l), u), {0, 1, 2, 0, 0, 3}},
      {"order", order, {1, 0}},
      {"q r", numpy::matmul(q, r), {1, 0, 0, 2, 3, 0}},
  });
  EXPECT_TRUE(scipy::linalg::qr(tall).order.is_null());
  EXPECT_EQ(scipy::linalg::schur(kLower, /*as_complex=*/true).t.dtype(), DType::kComplex128);
}

TEST(ScipyLinalg, HasTheExponential) {
  const Array nilpotent = Array::of<double>({0, 3, 0, 0}, {2, 2});
  const Array turn = Array::of<double>({0, -2, 2, 0}, {2, 2});
  const Array one = Array::of<double>({1, 0, 0, 1}, {2, 2});
  const auto [value, derivative] = scipy::linalg::expm_frechet(one, one);
  const double nan = std::nan("");
  check({
      {"nilpotent", scipy::linalg::expm(nilpotent, {.upper_triangular = true}), {1, 3, 0, 1}},
      {"of a turn",
       scipy::linalg::expm(turn),
       {std::cos(2.0), -std::sin(2.0), std::sin(2.0), std::cos(2.0)}},
      {"value", value, {std::exp(1.0), 0, 0, std::exp(1.0)}},
      {"derivative", derivative, {std::exp(1.0), 0, 0, std::exp(1.0)}},
      {"too large", scipy::linalg::expm(one * 1e9, {.max_squarings = 2}), {nan, nan, nan, nan}},
  });
}

TEST(Signal, ConvolvesInAnyNumberOfDimensions) {
  using signal::Method;
  using signal::Mode;
  const Array x = Array::of<double>({1, 2, 3, 4}), y = Array::of<int32_t>({1, 10, 100});
  const Array plane = Array::of<double>({1, 2, 3, 4}, {2, 2});
  for (const Method method : {Method::kDirect, Method::kFft}) {
    check(
        {
            {"full", signal::convolve(x, y, Mode::kFull, method), {1, 12, 123, 234, 340, 400}},
            {"same", signal::convolve(x, y, Mode::kSame, method), {12, 123, 234, 340}},
            {"valid", signal::convolve(y, x, Mode::kValid, method), {123, 234}},
            {"correlate", signal::correlate(x, y, Mode::kValid, method), {321, 432}},
            {"of a plane",
             signal::convolve(plane, plane, Mode::kFull, method),
             {1, 4, 4, 6, 20, 16, 9, 24, 16}},
        },
        1e-11);
  }
  check({
      {"convolve2d", signal::convolve2d(plane, plane, Mode::kSame), {1, 4, 6, 20}},
      {"correlate2d", signal::correlate2d(plane, plane, Mode::kSame), {30, 14, 11, 4}},
      {"along an axis",
       signal::fftconvolve(plane, Array::of<double>({1, 1}, {1, 2}), Mode::kFull, 1),
       {1, 3, 2, 3, 7, 4}},
  });
  EXPECT_THAT(message_of([&] {
                signal::correlate(numpy::ones({2, 3}), numpy::ones({3, 2}), Mode::kValid);
              }),
              HasSubstr("correlate: one input must be at least as large as the other"));
  EXPECT_THAT(message_of([&] { signal::convolve2d(x, x); }),
              HasSubstr("convolve2d: inputs must have two dimensions, got 1"));
}

TEST(Signal, TakesTrendsAway) {
  const Array x = Array::of<double>({1, 2, 3, 10, 20, 30});
  check({
      {"constant",
       signal::detrend(x, {.trend = signal::Trend::kConstant}),
       {-10, -9, -8, -1, 9, 19}},
      {"pieces", signal::detrend(x, {.breakpoints = {3}}), {0, 0, 0, 0, 0, 0}},
  });
  EXPECT_THAT(message_of([&] { signal::detrend(x, {.breakpoints = {7}}); }),
              HasSubstr("detrend: breakpoints must lie in [0, 6], got 7"));
}

}  // namespace
}  // namespace farcall
