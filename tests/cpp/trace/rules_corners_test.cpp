// Corner cases of transformation rules: ties, zeros, infinities, weak types, narrow floats, errors.
#include <cmath>
#include <complex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/trace/batch.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/record.h>

#include "arrays.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;
using ::testing::IsNan;
using testing::values;
using Arrays = std::vector<Array>;

// The gradient of the sum of the results.
Arrays gradient_of_sum(const FlatFunction& function, const Arrays& inputs) {
  const Linearized linearized = linearize(function, inputs, std::vector<bool>(inputs.size(), true));
  Arrays ones;
  for (const Array& output : linearized.outputs) {
    ones.push_back(lax::broadcast_in_dim(
        lax::convert_element_type(Array::scalar(1.0), output.dtype()), output.shape(), {}));
  }
  return linearized.derivative->transpose(ones);
}

template <class Function>
FlatFunction flat(Function function) {
  return [function](std::span<const Array> x) -> Arrays {
    if constexpr (std::is_invocable_v<Function, const Array&, const Array&>) {
      return {function(x[0], x[1])};
    } else {
      return {function(x[0])};
    }
  };
}

TEST(RuleCorners, EqualOperandsOfMaxAndMinShareTheDerivative) {
  const Array x = Array::of<double>({1, 2, 3}), y = Array::of<double>({1, 3, 2});
  for (const auto& [function, wanted] :
       {std::pair(flat(lax::max), 0.0), std::pair(flat(lax::min), 1.0)}) {
    const Arrays found = gradient_of_sum(function, {x, y});
    EXPECT_THAT(values<double>(found[0]), ElementsAre(0.5, wanted, 1 - wanted));
    EXPECT_THAT(values<double>(found[1]), ElementsAre(0.5, 1 - wanted, wanted));
  }
}

TEST(RuleCorners, EqualExtremesShareTheDerivative) {
  const auto max = flat([](const Array& x) { return lax::reduce_max(x, Shape{0}); });
  EXPECT_THAT(values<double>(gradient_of_sum(max, {Array::of<double>({4, 1, 4, 4, 2})})[0]),
              ElementsAre(1.0 / 3, 0, 1.0 / 3, 1.0 / 3, 0));
  const auto min = flat([](const Array& x) { return lax::reduce_min(x, Shape{0}); });
  EXPECT_THAT(values<double>(gradient_of_sum(min, {Array::of<double>({1, 1, 4})})[0]),
              ElementsAre(0.5, 0.5, 0));
}

TEST(RuleCorners, ProductsWithZerosHaveTheirDerivatives) {
  const auto product = flat([](const Array& x) { return lax::reduce_prod(x, Shape{0}); });
  EXPECT_THAT(values<double>(gradient_of_sum(product, {Array::of<double>({2, 0, 3})})[0]),
              ElementsAre(0, 6, 0));
  EXPECT_THAT(values<double>(gradient_of_sum(product, {Array::of<double>({0, 0, 3})})[0]),
              ElementsAre(0, 0, 0));
  EXPECT_THAT(values<double>(gradient_of_sum(product, {Array::of<double>({5})})[0]),
              ElementsAre(1));
}

TEST(RuleCorners, DerivativesAtZero) {
  const Array zero = Array::of<double>({0});
  EXPECT_THAT(values<double>(gradient_of_sum(flat(lax::abs), {zero})[0]), ElementsAre(1));
  const auto zeroth = flat([](const Array& x) { return lax::integer_pow(x, 0); });
  EXPECT_TRUE(gradient_of_sum(zeroth, {zero})[0].is_null());
  const auto first = flat([](const Array& x) { return lax::integer_pow(x, 1); });
  EXPECT_THAT(values<double>(gradient_of_sum(first, {zero})[0]), ElementsAre(1));
  // 0^y does not depend on y for positive y.
  EXPECT_THAT(values<double>(gradient_of_sum(flat(lax::pow), {zero, Array::of<double>({2})})[1]),
              ElementsAre(0));
  const Array complex_zero = Array::of<std::complex<double>>({{0, 0}});
  EXPECT_THAT(values<std::complex<double>>(gradient_of_sum(flat(lax::abs), {complex_zero})[0]),
              ElementsAre(std::complex<double>(0, 0)));
}

TEST(RuleCorners, TheChosenCaseAloneIsDifferentiated) {
  // The derivative of the square root at zero is infinite, but must not affect the result.
  const auto safe = flat([](const Array& x) {
    const Array positive = lax::gt(x, Array::scalar(0.0));
    const Array inner = lax::select_n(positive, Arrays{Array::scalar(1.0), x});
    return lax::select_n(positive, Arrays{Array::scalar(0.0), lax::sqrt(inner)});
  });
  EXPECT_THAT(values<double>(gradient_of_sum(safe, {Array::of<double>({0, 4})})[0]),
              ElementsAre(0, 0.25));
}

TEST(RuleCorners, ClampGivesNothingAtItsBounds) {
  const FlatFunction clamp = [](std::span<const Array> x) -> Arrays {
    return {lax::clamp(x[0], x[1], x[2])};
  };
  const Arrays found = gradient_of_sum(
      clamp, {Array::scalar(0.0), Array::of<double>({-1, 0, 0.5, 1, 2}), Array::scalar(1.0)});
  EXPECT_THAT(values<double>(found[1]), ElementsAre(0, 0, 1, 0, 0));
  EXPECT_EQ(found[0].item<double>(), 1);
  EXPECT_EQ(found[2].item<double>(), 1);
}

TEST(RuleCorners, StopGradientIsAConstantToDerivatives) {
  const auto function = flat([](const Array& x) { return lax::mul(lax::stop_gradient(x), x); });
  EXPECT_THAT(values<double>(gradient_of_sum(function, {Array::of<double>({3})})[0]),
              ElementsAre(3));
  const Array number = Array::scalar(3);
  EXPECT_EQ(&lax::stop_gradient(number).node(), &number.node());
}

TEST(RuleCorners, TangentsAreStronglyTyped) {
  const Array weak(2.5f);
  ASSERT_TRUE(weak.type().weak_type());
  for (const auto& function : {flat(lax::sin), flat(lax::tanh), flat(lax::sqrt),
                               flat([](const Array& x) { return lax::integer_pow(x, 3); })}) {
    const JvpResults found = jvp(function, Arrays{weak}, Arrays{Array::scalar(1.0f)});
    EXPECT_TRUE(found.primals[0].type().weak_type());
    EXPECT_EQ(found.tangents[0].type(), ShapeDtype(DType::kFloat32, {}));
    EXPECT_EQ(gradient_of_sum(function, {weak})[0].type(), ShapeDtype(DType::kFloat32, {}));
  }
}

TEST(RuleCorners, NarrowFloatsKeepTheirDtype) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    const Array x = lax::convert_element_type(Array::of<float>({0.5f, 2.0f}), dtype);
    for (const auto& function :
         {flat(lax::sqrt), flat(lax::logistic), flat(lax::erf),
          flat([](const Array& v) { return lax::reduce_max(v, Shape{0}); })}) {
      const Array found = gradient_of_sum(function, {x})[0];
      EXPECT_EQ(found.type(), x.type());
      EXPECT_THAT(values<float>(lax::convert_element_type(found, DType::kFloat32)),
                  ::testing::Each(::testing::Truly([](float v) { return std::isfinite(v); })));
    }
  }
}

TEST(RuleCorners, RecordedDerivativesHoldConstantsAsLiterals) {
  const ShapeDtype type(DType::kBFloat16, {2});
  const ProgramPtr program = record(
      [&](std::span<const Array> x) -> Arrays {
        return jvp(flat(lax::sqrt), x.first(1), x.subspan(1)).tangents;
      },
      std::vector<ShapeDtype>{type, type});
  EXPECT_TRUE(program->constants.empty());
  ASSERT_EQ(program->equations.size(), 3u);
  EXPECT_EQ(program->equations[0].primitive->name, "sqrt");
  EXPECT_EQ(program->equations[1].primitive->name, "div");
  EXPECT_EQ(program->equations[2].primitive->name, "mul");
}

TEST(RuleCorners, MaximaOfNanHaveNoNumberAsDerivative) {
  const auto max = flat([](const Array& x) { return lax::reduce_max(x, Shape{0}); });
  const Array found = gradient_of_sum(max, {Array::of<double>({1, std::nan("")})})[0];
  EXPECT_THAT(values<double>(found), ElementsAre(IsNan(), IsNan()));
}

TEST(RuleCorners, EmptyBatches) {
  const BatchAxis axis{0, ""};
  const Array x = lax::broadcast_in_dim(Array::scalar(1.0), Shape{0, 3}, {});
  const BatchResults found =
      batch(flat(lax::add), Arrays{x, Array::scalar(2.0)}, Shape{0, kNotBatched}, axis);
  EXPECT_EQ(testing::shape(batched_in_front(found, axis)[0]), (Shape{0, 3}));
}

TEST(RuleCorners, ResultsThatDoNotDependOnTheBatchHaveNone) {
  const BatchAxis axis{2, ""};
  const FlatFunction function = [](std::span<const Array> x) -> Arrays {
    return {lax::exp(x[1]), lax::iota(DType::kInt32, Shape{3}, 0)};
  };
  const BatchResults found = batch(function, Arrays{Array::of<double>({1, 2}), Array::scalar(0.0)},
                                   Shape{0, kNotBatched}, axis);
  EXPECT_THAT(found.axes, ElementsAre(kNotBatched, kNotBatched));
}

TEST(RuleCorners, ProductsOfTwoLinearOperandsAreRefused) {
  const ShapeDtype type(DType::kFloat64, {2});
  for (const auto& [function, name] :
       {std::pair(flat(lax::mul), "mul"), std::pair(flat(lax::div), "div"),
        std::pair(flat([](const Array&x, const Array&y) {
                    return lax::dot_general(x, y, Shape{}, Shape{}, Shape{0}, Shape{0});
                  }),
                  "dot_general")}) {
    const ProgramPtr program = record(function, std::vector<ShapeDtype>{type, type});
    EXPECT_EQ(testing::error_of(ErrorCode::kInvalidArgument,
                                [&] {
                                  transpose(*program, Arrays(2), Arrays{Array::of<double>({1, 1})});
                                }),
              std::string(name) +
                  ": is not linear in the operands that it is transposed with respect to; "
                  "transpose with respect to one of them, or use vjp");
  }
}

TEST(RuleCorners, PolygammaHasNoDerivativeByItsOrder) {
  EXPECT_EQ(testing::error_of(
                ErrorCode::kUnimplemented,
                [] {
                  gradient_of_sum(flat(lax::polygamma), {Array::scalar(1.0), Array::scalar(2.0)});
                }),
            "polygamma: has no derivative with respect to its order m");
}

TEST(RuleCorners, SqueezeRefusesDimensionsThatAreLonger) {
  EXPECT_EQ(
      testing::error_of(ErrorCode::kInvalidArgument,
                        [] {
                          lax::squeeze(testing::counting({2, 1}), Shape{0});
                        }),
      "squeeze: dimension 0 of i32[2,1] has size 2; only dimensions of size 1 can be removed");
}

}  // namespace
}  // namespace farcall
