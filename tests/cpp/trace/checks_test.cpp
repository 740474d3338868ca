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
using testing::CheckError;
using testing::error_of;
using ::testing::HasSubstr;
using testing::Layer;

// The message of the CheckError that `body` raises.
template <class Body>
std::string finding(Body&& body) {
  return error_of<CheckError>(ErrorCode::kFailedPrecondition, body);
}

// `f` with this derivative, which is multiplied by the tangent.
template <class F, class Slope>
auto with_slope(F f, Slope slope) {
  return custom_jvp(f, [f, slope](const std::tuple<Array>& x, const std::tuple<Array>& dx) {
    return std::pair(f(std::get<0>(x)), slope(std::get<0>(x)) * std::get<0>(dx));
  });
}

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
  const auto f = with_slope(square, [](const Array& x) { return 3 * x; });
  EXPECT_THAT(
      finding([&] { check_derivatives(f, std::tuple(point())); }),
      HasSubstr(
          "check_derivatives: derivative: fwd mode: the derivative of result 0[1] by argument "
          "0[1] should be"));
}

TEST(CheckDerivatives, NamesMembersOfStructsAndPartsOfComplexNumbers) {
  const auto off = [](const Array& z) { return 2 * z + Array::scalar(std::complex<double>(0, 1)); };
  const auto f = with_slope(square, off);
  const auto of_layer = [f](const Layer& layer) { return f(layer.shift) + layer.weights * 0; };
  const Layer layer{Array::scalar(2.0), Array::scalar(std::complex<double>(1))};
  EXPECT_THAT(finding([&] { check_derivatives(of_layer, std::tuple(layer)); }),
              HasSubstr("the derivative of real part of result 0 by imaginary part of argument "
                        "0.shift should be"));
}

TEST(CheckDerivatives, ChecksEachOrder) {
  const auto slope =
      with_slope([](const Array& x) { return 2 * x; }, [](const Array& x) { return 3 + 0 * x; });
  const auto wrong = with_slope(square, slope);
  check_derivatives(wrong, std::tuple(point()));
  EXPECT_THAT(finding([&] { check_derivatives(wrong, std::tuple(point()), {.order = 2}); }),
              HasSubstr("derivative of fwd mode: fwd mode: the derivative of result 0"));
}

TEST(CheckDerivatives, AllowsWhatTheNarrowestFloatExplains) {
  const auto slightly = with_slope(square, [](const Array& x) { return 2.01 * x; });
  EXPECT_THAT(finding([&] { check_derivatives(slightly, std::tuple(point())); }),
              HasSubstr("(atol=1.5e-07, rtol=1.5e-07, step 6.1e-06)"));
  check_derivatives(slightly, std::tuple(point()), {.rtol = 0.1});
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat8E5M2,
                            DType::kFloat8E4M3FN, DType::kFloat8E3M4}) {
    check_derivatives(slightly, std::tuple(numpy::astype(point(), dtype)));
  }
  // 10 times the root of the distance from 1 to the next number, 2^-4.
  const auto never = with_slope(square, [](const Array& x) { return 10 + 0 * x; });
  EXPECT_THAT(finding([&] {
                check_derivatives(never, std::tuple(numpy::astype(point(), DType::kFloat8E3M4)));
              }),
              HasSubstr("(atol=2.5e+00, rtol=2.5e+00, step 4.0e-01)"));
}

TEST(CheckDerivatives, FindsDerivativesThatAreNotNumbers) {
  const auto f = with_slope(square, [](const Array& x) { return x * NAN; });
  EXPECT_THAT(finding([&] { check_derivatives(f, std::tuple(point())); }), HasSubstr("and is nan"));
}

TEST(CheckDerivatives, FindsAWrongBackwardRuleAndResultsThatARuleChanges) {
  const auto wrong = custom_vjp(
      square, [](const Array& x) { return std::pair(square(x), x); },
      [](const Array& x, const Array& cotangent) { return x * cotangent; });
  EXPECT_THAT(finding([&] { check_derivatives(wrong, std::tuple(point()), {.forward = false}); }),
              HasSubstr("check_derivatives: derivative: rev mode: the derivative of result 0[1] by "
                        "argument 0[1]"));
  const auto changes = custom_vjp(
      square, [](const Array& x) { return std::pair(square(x) + x, x); },
      [](const Array& x, const Array& cotangent) { return 2 * x * cotangent; });
  EXPECT_THAT(finding([&] { check_derivatives(changes, std::tuple(point()), {.forward = false}); }),
              HasSubstr("rev mode changes the result 0[1]: it should be 4.0, and is 6.0"));
}

TEST(CheckDerivatives, ReportsResultsWhoseTypesDependOnTheValues) {
  const auto f = [](const Array& x) {
    return numpy::arange(0, x.item<double>() > 1 ? 3 : 2, 1, DType::kFloat64) * x;
  };
  EXPECT_EQ(finding([&] { check_derivatives(f, std::tuple(Array::scalar(1.0))); }),
            "check_derivatives: derivative: differences: the types of the results should be "
            "(f64[2]), got "
            "(f64[3])");
}

TEST(CheckDerivatives, NeedsSomethingToDifferentiate) {
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [] { check_derivatives(square, std::tuple(Array(1))); }),
            "check_derivatives: no argument is a float or a complex number");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [] { check_derivatives(square, std::tuple(point()), {.order = 0}); }),
            "check_derivatives: order must be at least 1, got 0");
  const testing::DerivativeChecks none{.forward = false, .reverse = false};
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [&] { check_derivatives(square, std::tuple(point()), none); }),
            "check_derivatives: there must be a mode to check");
}

TEST(CheckBatching, AcceptsWhatVmapDoesItself) {
  const auto f = [](const Layer& layer, const Array& x, int power) {
    return std::pair(numpy::cos(layer.weights * x) * power + layer.shift, numpy::sum(x));
  };
  check_batching(f, std::tuple(Layer{point(), Array::scalar(2.0)}, point(), 3));
}

TEST(CheckBatching, FindsAWrongRuleAndAMissingOne) {
  const auto wrong = custom_vmap(square, [](const VmapOptions&, const Array& x) { return x; });
  EXPECT_EQ(
      finding([&] { check_batching(wrong, std::tuple(point())); }),
      "check_batching: vmap: with in_axes=(0,): result 0[0, 1] should be 4.0, as one call for "
      "each element gives, and is 2.0");
  const auto missing = [](const Array& x) {
    const auto same = [](std::span<const Array> in) { return std::vector(in.begin(), in.end()); };
    return pure_callback(same, {x.type()}, {x})[0];
  };
  EXPECT_THAT(
      error_of(ErrorCode::kUnimplemented, [&] { check_batching(missing, std::tuple(point())); }),
      HasSubstr("check_batching: vmap: with in_axes=(0,): pure_callback callback: vmap needs"));
}

TEST(CheckBatching, ComparesIntegersExactly) {
  constexpr int64_t kBig = int64_t{1} << 53;
  const auto f = custom_vmap([=](const Array& x) { return x + kBig; },
                             [=](const VmapOptions&, const Array& x) { return x + kBig + 1; });
  EXPECT_THAT(finding([&] { check_batching(f, std::tuple(Array::scalar(int64_t{0}))); }),
              HasSubstr("result 0[0] should be 9007199254740992, as one call for each element "
                        "gives, and is 9007199254740993"));
  check_batching(f, std::tuple(Array::scalar(int64_t{0})), {.atol = 1});
}

TEST(CheckBatching, ReportsTheLargestErrorAndOtherTypes) {
  const auto wrong = custom_vmap(square, [](const VmapOptions&, const Array& x) { return -x * x; });
  EXPECT_THAT(finding([&] { check_batching(wrong, std::tuple(point())); }),
              HasSubstr("result 0[0, 1] should be 4.0"));
  const auto narrower = custom_vmap(square, [](const VmapOptions&, const Array& x) {
    return numpy::astype(x * x, DType::kFloat32);
  });
  EXPECT_EQ(finding([&] { check_batching(narrower, std::tuple(point())); }),
            "check_batching: vmap: with in_axes=(0,): result 0 should be float64[3, 3], got "
            "float32[3, 3]");
}

TEST(CheckBatching, ReportsAnotherStructureUnderVmap) {
  const auto f = [](const Array& x) {
    std::vector<Array> results = {x};
    if (!x.is_concrete()) results.push_back(x);
    return results;
  };
  EXPECT_EQ(finding([&] { check_batching(f, std::tuple(point())); }),
            "check_batching: vmap: with in_axes=(0,): the structure should be [*], got [*, *]");
}

TEST(CheckBatching, TakesAxesAndSizes) {
  const auto wrong = custom_vmap([](const Array& x, const Array& y) { return x * y; },
                                 [](const VmapOptions& batch, const Array& x, const Array& y) {
                                   const bool both =
                                       batch.in_axes[0].is_mapped() && batch.in_axes[1].is_mapped();
                                   return both ? x * y : x * y + *batch.axis_size;
                                 });
  const std::tuple args(Array::scalar(2.0), Array::scalar(3.0));
  check_batching(wrong, args, {.in_axes = {{0, 0}}});
  EXPECT_EQ(finding([&] {
              check_batching(wrong, args, {.in_axes = {{0, std::nullopt}}, .sizes = {1, 2}});
            }),
            "check_batching: vmap: of one element with in_axes=(0, None): result 0[0] should be "
            "6.0, as one call for each element gives, and is 7.0");
  const auto refused = [&](testing::BatchChecks options) {
    return error_of(ErrorCode::kInvalidArgument, [&] { check_batching(wrong, args, options); });
  };
  EXPECT_EQ(refused({.in_axes = {{0}}}),
            "check_batching: in_axes must have an entry for each of the 2 arguments, not all of "
            "them None, got (0,)");
  EXPECT_THAT(refused({.in_axes = {{std::nullopt, std::nullopt}}}), HasSubstr("got (None, None)"));
  EXPECT_EQ(refused({.sizes = {3, 0}}), "check_batching: sizes must be at least 1, got (3, 0)");
  EXPECT_EQ(
      refused({.in_axes = {{0, 1}}}),
      "check_batching: vmap: with in_axes=(0, 1): axis 1 is out of range for a batch of f64[], "
      "which has rank 1");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [] { check_batching([](int n) { return Array(n); }, std::tuple(1)); }),
            "check_batching: no argument to map over");
}

TEST(CheckBatching, DoesNotMapStaticArguments) {
  check_batching([](int power, const Array& x) { return x * power; }, std::tuple(3, point()));
}

// A number counts as an array of its dtype, alone and in a batch.
TEST(CheckBatching, TakesNumbers) {
  const auto f = [](const Array& number) {
    return number * numpy::astype(point(), DType::kFloat16);
  };
  check_batching(f, std::tuple(Array(2.0)));
}

}  // namespace
}  // namespace farcall
