#include <farcall/ops/roots.h>

#include <farcall/ops/lax.h>
#include <farcall/ops/loops.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/reduce.h>
#include <farcall/trace/derivatives.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/vmap.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arrays.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::values;

// x with x^3 = y. Newton's method; the guess and all steps are exact for cubes of small integers.
Array cube_root(const Array& y) {
  return lax::custom_root(
      [y](const Array& x) { return x * x * x - y; }, Array::scalar<double>(1),
      [](const auto& f, const Array& guess) {
        Array x = guess;
        for (int i = 0; i < 40; ++i) x = x - f(x) / (3 * x * x);
        return x;
      },
      [](const auto& g, const Array& y) { return y / g(Array::scalar<double>(1)); });
}

TEST(CustomRoot, HasTheDerivativesOfTheImplicitFunction) {
  const Array y = Array::scalar<double>(8);
  const auto near = [](double wanted) { return ElementsAre(::testing::DoubleNear(wanted, 1e-12)); };
  EXPECT_THAT(values<double>(cube_root(y)), near(2));
  EXPECT_THAT(values<double>(grad(cube_root)(y)), near(1.0 / 12));               // 1 / (3 x^2)
  EXPECT_THAT(values<double>(jit(grad(grad(cube_root)))(y)), near(-1.0 / 144));  // -2 / (9 x^5)
  EXPECT_THAT(
      values<double>(vmap(jit(grad(cube_root)))(Array::of<double>({1, 8}, {2}))),
      ElementsAre(::testing::DoubleNear(1.0 / 3, 1e-12), ::testing::DoubleNear(1.0 / 12, 1e-12)));
}

// The same; both solvers close over y too.
Array cube_root_by_y(const Array& y) {
  return lax::custom_root(
      [y](const Array& x) { return x * x * x - y; }, Array::scalar<double>(1),
      [y](const auto& f, const Array& guess) {
        const auto step = [&](const Array&, const Array& x) {
          return x - f(x) / (3 * numpy::power(y, Array::scalar<double>(2.0 / 3)));
        };
        return lax::fori_loop(Array::scalar<int32_t>(0), Array::scalar<int32_t>(80), step, guess);
      },
      [y](const auto& g, const Array& b) { return b * y / (g(Array::scalar<double>(1)) * y); });
}

TEST(CustomRoot, SolversMayCloseOverTracedArrays) {
  const Array y = Array::scalar<double>(8);
  const auto near = [](double wanted) { return ::testing::DoubleNear(wanted, 1e-9); };
  EXPECT_THAT(values<double>(grad(cube_root_by_y)(y)), ElementsAre(near(1.0 / 12)));
  EXPECT_THAT(values<double>(jit(grad(grad(cube_root_by_y)))(y)), ElementsAre(near(-1.0 / 144)));
  EXPECT_THAT(values<double>(vmap(cube_root_by_y)(Array::of<double>({1, 8}, {2}))),
              ElementsAre(near(1), near(2)));
}

using Pair = std::pair<Array, Array>;

// a x = c and b y = 2 c, with the number of steps besides.
std::pair<Pair, Array> two_roots(const Array& c) {
  return lax::custom_root(
      [c](const Pair& x) { return Pair(2 * x.first - c, 4 * x.second - 2 * c); },
      Pair(Array::scalar<float>(0), Array::scalar<float>(0)),
      [](const auto& f, const Pair& guess) {
        const Pair left = f(guess);
        return std::pair(Pair(-left.first / 2, -left.second / 4), Array::scalar<int32_t>(1));
      },
      [](const auto&, const Pair& y) { return Pair(y.first / 2, y.second / 4); });
}

TEST(CustomRoot, TakesTreesAndReturnsWhatTheSolverSaysBesides) {
  const Array c = Array::scalar<float>(6);
  const auto [roots, steps] = two_roots(c);
  EXPECT_THAT(values<float>(roots.first), ElementsAre(3));
  EXPECT_THAT(values<float>(roots.second), ElementsAre(3));
  EXPECT_THAT(values<int32_t>(steps), ElementsAre(1));
  const auto sum = [](const Array& c) {
    const auto [roots, steps] = two_roots(c);
    return roots.first + 10 * roots.second + numpy::astype(steps, DType::kFloat32);
  };
  EXPECT_THAT(values<float>(grad(sum)(c)), ElementsAre(5.5));
}

TEST(CustomRoot, ChecksWhatItsFunctionsReturn) {
  const std::vector<Array> guess = {Array::scalar<float>(1)};
  const auto root = [&](const FlatFunction& f, const lax::RootSolver& solve,
                        const lax::LinearSolver& tangent_solve) {
    return grad([=](const Array& y) {
      const FlatFunction shifted = [=](std::span<const Array> x) {
        std::vector<Array> found = f(x);
        found[0] = found[0] - y;
        return found;
      };
      return lax::custom_root(shifted, guess, solve, tangent_solve)[0];
    })(Array::scalar<float>(3));
  };
  const FlatFunction same = [](std::span<const Array> x) {
    return std::vector<Array>(x.begin(), x.end());
  };
  const lax::LinearSolver start = [](const FlatFunction&, std::span<const Array> x) {
    return std::vector<Array>(x.begin(), x.end());
  };
  EXPECT_THAT(values<float>(root(same, start, start)), ElementsAre(1));
  EXPECT_THAT(error_of(ErrorCode::kInvalidArgument,
                       [&] {
                         root(
                             [](std::span<const Array> x) {
                               return std::vector<Array>{x[0], x[0]};
                             },
                             start, start);
                       }),
              HasSubstr("custom_root: f must return 1 array"));
  const lax::LinearSolver nothing = [](const FlatFunction&, std::span<const Array>) {
    return std::vector<Array>();
  };
  EXPECT_THAT(error_of(ErrorCode::kInvalidArgument, [&] { root(same, nothing, start); }),
              HasSubstr("custom_root: solve must return at least 1 array"));
  EXPECT_THAT(error_of(ErrorCode::kInvalidArgument, [&] { root(same, start, nothing); }),
              HasSubstr("custom_root: tangent_solve must return 1 array"));
  const lax::LinearSolver longer = [](const FlatFunction&, std::span<const Array> y) {
    return std::vector<Array>{lax::broadcast_in_dim(y[0], {2}, {})};
  };
  EXPECT_THAT(
      error_of<TypeError>(ErrorCode::kInvalidArgument, [&] { root(same, start, longer); }),
      HasSubstr("result 0 of tangent_solve must be f32[], the type of the root; got f32[2]"));
  // Over trees, the structure is checked.
  const auto one = [](const auto&, const std::vector<Array>&) { return std::vector<Array>(); };
  EXPECT_THAT(error_of<TypeError>(ErrorCode::kInvalidArgument,
                                  [&] {
                                    lax::custom_root([](const std::vector<Array>& x) { return x; },
                                                     std::vector<Array>(guess), one, one);
                                  }),
              HasSubstr("custom_root: solve: x must have the structure of the initial guess"));
}

}  // namespace
}  // namespace farcall
