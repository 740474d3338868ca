// The checks report wrong rules and accept correct ones.
#include <complex>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/callback.h>
#include <farcall/ops/checks.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/custom_rules.h>

#include "arrays.h"
#include "trees.h"

namespace farcall {
namespace {

using testing::check_batching;
using testing::check_derivatives;
using testing::error_of;
using ::testing::HasSubstr;
using testing::Layer;

Array point() { return Array::of<double>({1, 2, .5}); }

Array square(const Array& x) { return x * x; }

TEST(CheckDerivatives, AcceptsTreesStaticArgumentsAndSeveralOrders) {
  const auto f = [](const Layer& layer, const Array& x, int power) {
    return std::pair(numpy::sin(layer.weights * x) * power + layer.shift, numpy::sum(x * x * x));
  };
  check_derivatives(f, std::tuple(Layer{point(), Array::scalar(2.0)}, point(), 3), {.order = 2});
}

TEST(CheckDerivatives, TakesComplexNumbersAsPairs) {
  const auto f = [](const Array& x) { return numpy::sum(x * x * numpy::conjugate(x)); };
  check_derivatives(f, std::tuple(Array::of<std::complex<double>>({{1, 2}, {.5, -1}})));
}

TEST(CheckDerivatives, NamesTheEntryThatIsFurthestOff) {
  const auto f = custom_jvp(square, [](const std::tuple<Array>& x, const std::tuple<Array>& dx) {
    return std::pair(square(std::get<0>(x)), std::get<0>(x) * std::get<0>(dx) * 3);
  });
  EXPECT_THAT(
      error_of(ErrorCode::kFailedPrecondition, [&] { check_derivatives(f, std::tuple(point())); }),
      HasSubstr("forward mode: the derivative of result 0[1] by argument 0[1] should be"));
}

TEST(CheckDerivatives, FindsAWrongBackwardRuleAndResultsThatARuleChanges) {
  const auto wrong = custom_vjp(
      square, [](const Array& x) { return std::pair(square(x), x); },
      [](const Array& x, const Array& cotangent) { return x * cotangent; });
  EXPECT_THAT(error_of(ErrorCode::kFailedPrecondition,
                       [&] { check_derivatives(wrong, std::tuple(point()), {.forward = false}); }),
              HasSubstr("reverse mode: the derivative of result 0[1] by argument 0[1]"));
  const auto changes = custom_vjp(
      square, [](const Array& x) { return std::pair(square(x) + 1, x); },
      [](const Array& x, const Array& cotangent) { return 2 * x * cotangent; });
  EXPECT_THAT(
      error_of(ErrorCode::kFailedPrecondition,
               [&] { check_derivatives(changes, std::tuple(point()), {.forward = false}); }),
      HasSubstr("reverse mode changes result 0[0]: it should be 1, and is 2"));
}

TEST(CheckDerivatives, NeedsSomethingToDifferentiate) {
  EXPECT_THAT(error_of(ErrorCode::kInvalidArgument,
                       [] { check_derivatives(square, std::tuple(Array(1))); }),
              HasSubstr("there must be an argument that is a float"));
}

TEST(CheckBatching, AcceptsWhatVmapDoesItself) {
  const auto f = [](const Layer& layer, const Array& x, int power) {
    return std::pair(numpy::cos(layer.weights * x) * power + layer.shift, numpy::sum(x));
  };
  check_batching(f, std::tuple(Layer{point(), Array::scalar(2.0)}, point(), 3));
}

TEST(CheckBatching, FindsAWrongRuleAndAMissingOne) {
  const auto wrong = custom_vmap(square, [](const VmapOptions&, const Array& x) { return x; });
  EXPECT_THAT(
      error_of(ErrorCode::kFailedPrecondition, [&] { check_batching(wrong, std::tuple(point())); }),
      HasSubstr("check_batching: vmap with in_axes=(0): result 0[0, 1] should be 4"));
  const auto missing = [](const Array& x) {
    const auto same = [](std::span<const Array> in) { return std::vector(in.begin(), in.end()); };
    return pure_callback(same, {x.type()}, {x})[0];
  };
  EXPECT_THAT(
      error_of(ErrorCode::kUnimplemented, [&] { check_batching(missing, std::tuple(point())); }),
      HasSubstr("check_batching: vmap with in_axes=(0): pure_callback callback: vmap needs"));
}

}  // namespace
}  // namespace farcall
