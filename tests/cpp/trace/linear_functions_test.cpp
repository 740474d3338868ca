#include <farcall/ops/linear_functions.h>

#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/derivatives.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/vmap.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arrays.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using testing::values;

// The matrix ((2, 1), (0, 4)) times `scale`; its inverse is written by hand.
Array times(const Array& scale, const Array& x) {
  return scale * numpy::stack(std::vector{2 * x[0] + x[1], 4 * x[1]});
}
Array solved(const Array& scale, const Array& b) {
  return lax::custom_linear_solve([&](const Array& x) { return times(scale, x); }, b,
                                  [&](const auto&, const Array& b) {
                                    const Array y = b[1] / (4 * scale);
                                    return numpy::stack(std::vector{(b[0] / scale - y) / 2, y});
                                  },
                                  [&](const auto&, const Array& b) {
                                    const Array x = b[0] / (2 * scale);
                                    return numpy::stack(std::vector{x, (b[1] / scale - x) / 4});
                                  });
}

const Array kB = Array::of<float>({3, 8}, {2});

TEST(CustomLinearSolve, IsDifferentiatedAsTheSolutionOfTheEquation) {
  const Array scale = Array::scalar<float>(2);
  EXPECT_THAT(values<float>(solved(scale, kB)), ElementsAre(0.25, 1));
  const auto weighted = [](const Array& scale, const Array& b) {
    const Array x = solved(scale, b);
    return x[0] + 10 * x[1];
  };
  const auto [by_scale, by_b] = grad<0, 1>(weighted)(scale, kB);
  EXPECT_THAT(values<float>(by_scale), ElementsAre(-5.125));  // -x / scale
  EXPECT_THAT(values<float>(by_b), ElementsAre(0.25, 1.1875));
  EXPECT_THAT(values<float>(grad(grad(weighted))(scale, kB)), ElementsAre(5.125));  // 2 x / scale^2
  EXPECT_THAT(values<float>(jit(vmap([&](const Array& s) { return solved(s, kB); }))(
                  Array::of<float>({1, 2}, {2}))),
              ElementsAre(0.5, 2, 0.25, 1));
}

TEST(CustomLinearSolve, TakesTreesAndReturnsWhatTheSolverSaysBesides) {
  using Pair = std::pair<Array, Array>;
  const auto solve = [](const Array& scale, const Pair& b) {
    return lax::custom_linear_solve(
        [&](const Pair& x) { return Pair(scale * x.first, 2 * x.second); }, b,
        [&](const auto&, const Pair& b) {
          return std::pair(Pair(b.first / scale, b.second / 2), Array::scalar<int32_t>(7));
        },
        lax::symmetric);
  };
  const Pair b(Array::scalar<float>(6), Array::scalar<float>(8));
  const auto [x, steps] = solve(Array::scalar<float>(3), b);
  EXPECT_THAT(values<float>(x.first), ElementsAre(2));
  EXPECT_THAT(values<float>(x.second), ElementsAre(4));
  EXPECT_EQ(steps.item<int32_t>(), 7);
  const auto first = [&](const Array& scale) { return solve(scale, b).first.first; };
  EXPECT_THAT(values<float>(grad(first)(Array::scalar<float>(3))),
              ElementsAre(FloatNear(-2.0 / 3, 1e-6)));
}

TEST(CustomLinearSolve, NeedsASolverForTheTransposeInReverseMode) {
  const auto solve = [](const Array& b) {
    return lax::custom_linear_solve([](const Array& x) { return 2 * x; }, b,
                                    [](const auto&, const Array& b) { return b / 2; });
  };
  const Array b = Array::scalar<float>(3);
  EXPECT_THAT(values<float>(jvp(solve, std::tuple(b), std::tuple(b)).second), ElementsAre(1.5));
  EXPECT_THAT(testing::error_of<TypeError>(ErrorCode::kInvalidArgument, [&] { grad(solve)(b); }),
              HasSubstr("reverse-mode differentiation needs transpose_solve"));
}

TEST(LinearCall, IsTransposedAsItSays) {
  const auto scaled = [](const Array& factor, const Array& x) {
    return linear_call([](const Array& r, const Array& x) { return r * x; },
                       // Deliberately not the transpose, which shows that this function runs.
                       [](const Array& r, const Array& t) { return 10 * r * t; }, factor, x);
  };
  const Array factor = Array::scalar<float>(3), x = Array::scalar<float>(5);
  EXPECT_THAT(values<float>(scaled(factor, x)), ElementsAre(15));
  const auto [by_factor, by_x] = grad<0, 1>(scaled)(factor, x);
  EXPECT_THAT(values<float>(by_factor), ElementsAre(5));
  EXPECT_THAT(values<float>(by_x), ElementsAre(30));
  EXPECT_THAT(values<float>(vmap(scaled, {.in_axes = {0, std::nullopt}})(kB, x)),
              ElementsAre(15, 40));
}

TEST(LinearCall, RefusesATransposeOfOtherTypes) {
  const auto one = [](const Array&, const Array& x) { return x; };
  const auto two = [](const Array&, const Array&) { return kB; };
  EXPECT_THAT(testing::error_of(
                  ErrorCode::kInvalidArgument,
                  [&] { linear_call(one, two, Array::scalar<float>(3), Array::scalar<float>(5)); }),
              HasSubstr("fun_transpose: what it returns (f32[2]) must be of"));
}

}  // namespace
}  // namespace farcall
