// Derivatives over trees, compared with finite differences and closed forms.
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/numpy_indexing.h>
#include <farcall/trace/derivatives.h>
#include <farcall/trace/jacobians.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/vmap.h>

#include "arrays.h"
#include "trees.h"

namespace farcall {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using testing::error_of;
using testing::Layer;
using testing::layer;
using testing::Network;
using ::testing::Pointwise;
using testing::refused;
using testing::shape;
using testing::values;

// The derivative of a scalar function with respect to each element of a tree, by finite
// differences.
template <class F, class T>
std::vector<double> differences(const F& f, const T& at) {
  constexpr double kStep = 1e-5;
  std::vector<double> slopes;
  const std::vector<Array> leaves = tree::leaves(at);
  for (size_t i = 0; i < leaves.size(); ++i) {
    for (int64_t k = 0; k < leaves[i].size(); ++k) {
      const auto value_at = [&](double change) {
        std::vector<double> elements = values<double>(leaves[i]);
        elements[static_cast<size_t>(k)] += change;
        std::vector<Array> moved = leaves;
        moved[i] = Array::of<double>(elements, leaves[i].shape());
        return f(detail::build<T>(tree::structure(at), moved)).template item<double>();
      };
      slopes.push_back((value_at(kStep) - value_at(-kStep)) / (2 * kStep));
    }
  }
  return slopes;
}

template <class T>
std::vector<double> all_values(const T& tree) {
  std::vector<double> all;
  for (const Array& leaf : tree::leaves(tree)) {
    for (const double value : leaf.values<double>()) all.push_back(value);
  }
  return all;
}

Network quadratic_network() {
  const auto layer = [](double a, double b, double c) {
    return Layer{Array::of<double>({a, b}), Array::scalar(c)};
  };
  return {layer(.1, .2, .3),
          {layer(.4, -.5, .6), layer(.7, .8, -.9)},
          {{"a", Array::scalar(1.1)}, {"b", Array::of<double>({1.2})}},
          Array::scalar(.5),
          2};
}

Array energy(const Network& net) {
  Array x = numpy::tanh(net.first.weights * 2 + net.first.shift);
  for (const Layer& layer : net.hidden) x = numpy::sin(x * layer.weights + layer.shift);
  for (int i = 0; i < net.power; ++i) x = x * net.scales.at("a");
  return numpy::sum(x) * numpy::sum(net.scales.at("b")) + *net.bias;
}

TEST(Grad, OfAStructAgreesWithDifferences) {
  const Network gradient = grad(energy)(quadratic_network());
  EXPECT_EQ(gradient.power, 2);
  EXPECT_THAT(all_values(gradient),
              Pointwise(DoubleNear(1e-8), differences(energy, quadratic_network())));
  EXPECT_THAT(all_values(jit(grad(energy))(quadratic_network())),
              Pointwise(DoubleNear(1e-8), differences(energy, quadratic_network())));
}

Array weighted(const Layer& layer, const Array& x, int power) {
  Array y = layer.weights * x;
  for (int i = 1; i < power; ++i) y = y * x;
  return numpy::sum(y) + layer.shift;
}

TEST(Grad, ChoosesArguments) {
  const Array x = Array::of<float>({3, 4});
  const Layer by_layer = grad(weighted)(layer(1, 5), x, 2);
  EXPECT_THAT(values<float>(by_layer.weights), ElementsAre(9, 16));
  EXPECT_EQ(by_layer.shift.item<float>(), 1);
  EXPECT_THAT(values<float>(grad<1>(weighted)(layer(1, 5), x, 2)), ElementsAre(6, 16));
  EXPECT_THAT(values<float>(grad<-2>(weighted)(layer(1, 5), x, 2)), ElementsAre(6, 16));
  const auto [value, both] = value_and_grad<1, 0>(weighted)(layer(1, 5), x, 2);
  EXPECT_EQ(value.item<float>(), 46);
  EXPECT_THAT(values<float>(std::get<0>(both)), ElementsAre(6, 16));
  EXPECT_THAT(values<float>(std::get<1>(both).weights), ElementsAre(9, 16));
}

TEST(Grad, AuxiliaryDataAreHandedOn) {
  const auto f = [](const Array& x) { return std::pair(x * x, std::tuple(x + 1, 7)); };
  const auto [gradient, aux] = grad(f, has_aux)(3.0f);
  EXPECT_EQ(gradient.item<float>(), 6);
  EXPECT_EQ(std::get<0>(aux).item<float>(), 4);
  EXPECT_EQ(std::get<1>(aux), 7);
  const auto [value_aux, again] = value_and_grad(f, has_aux)(3.0f);
  EXPECT_EQ(value_aux.first.item<float>(), 9);
  EXPECT_EQ(again.item<float>(), 6);
}

TEST(Grad, NestsAndMaps) {
  const auto cube = [](const Array& x) { return x * x * x; };
  EXPECT_EQ(grad(grad(cube))(2.0f).item<float>(), 12);
  EXPECT_THAT(values<float>(vmap(grad(grad(cube)))(Array::of<float>({1, 2}))), ElementsAre(6, 12));
}

TEST(Grad, WhatHasNoDerivativeHasNullArrays) {
  const auto f = [](const std::pair<Array, Array>& x) { return x.first * x.second; };
  const auto [by_float, by_int] =
      grad(f, {.allow_int = true})(std::pair(Array::scalar(2.f), Array::scalar(3)));
  EXPECT_EQ(by_float.item<float>(), 3);
  EXPECT_TRUE(by_int.is_null());
  EXPECT_EQ(grad<1>([](const Array& x, const Array&) { return x; })(1.f, 2.f).item<float>(), 0);
}

TEST(Jacobians, AgreeWithTheClosedForm) {
  // The Jacobian of (w x, sum x) with respect to w and x.
  const auto f = [](const Array& w, const Array& x) {
    return std::tuple(w * x, numpy::sum(x) + Array::scalar(0.0));
  };
  const Array w = Array::of<double>({2, 3}), x = Array::of<double>({5, 7});
  const auto check = [](const auto& jacobian) {
    const auto& [product, sum] = jacobian;
    EXPECT_THAT(values<double>(std::get<0>(product)), ElementsAre(5, 0, 0, 7));
    EXPECT_THAT(values<double>(std::get<1>(product)), ElementsAre(2, 0, 0, 3));
    EXPECT_THAT(values<double>(std::get<0>(sum)), ElementsAre(0, 0));
    EXPECT_THAT(values<double>(std::get<1>(sum)), ElementsAre(1, 1));
    EXPECT_THAT(shape(std::get<0>(product)), ElementsAre(2, 2));
  };
  check(jacfwd<0, 1>(f)(w, x));
  check(jacrev<0, 1>(f)(w, x));
  check(jit(jacrev<0, 1>(f))(w, x));
}

TEST(Jacobians, OfStructs) {
  const auto f = [](const Layer& layer) {
    return Layer{layer.weights * layer.shift, layer.shift * layer.shift};
  };
  // A tuple with one entry per member of the result; each entry is a Layer.
  const std::tuple<Layer, Layer> jacobian = jacfwd(f)(layer(2, 5));
  EXPECT_THAT(values<float>(std::get<0>(jacobian).weights), ElementsAre(5, 0, 0, 5));
  EXPECT_THAT(values<float>(std::get<0>(jacobian).shift), ElementsAre(2, 3));
  EXPECT_THAT(values<float>(std::get<1>(jacobian).weights), ElementsAre(0, 0));
  EXPECT_EQ(std::get<1>(jacobian).shift.item<float>(), 10);
  const Layer of_array = jacrev([](const Layer& layer) { return layer.weights * 2; })(layer(2, 5));
  EXPECT_THAT(values<float>(of_array.weights), ElementsAre(2, 0, 0, 2));
}

TEST(Jacobians, HessianOfAProduct) {
  const auto f = [](const Array& x) {
    const Array a = numpy::take(x, 0, 0), b = numpy::take(x, 1, 0);
    return a * a * b;
  };
  EXPECT_THAT(values<double>(hessian(f)(Array::of<double>({2, 3}))), ElementsAre(6, 4, 4, 0));
}

TEST(Jacobians, AuxiliaryData) {
  const auto f = [](const Array& x) { return std::pair(x * 2, x.shape()[0]); };
  const auto [forward, size] = jacfwd(f, has_aux)(Array::of<float>({1, 2}));
  EXPECT_THAT(values<float>(forward), ElementsAre(2, 0, 0, 2));
  EXPECT_EQ(size, 2);
  EXPECT_THAT(values<float>(jacrev(f, has_aux)(Array::of<float>({1, 2})).first),
              ElementsAre(2, 0, 0, 2));
}

TEST(JvpOfTrees, IsTheDerivativeInADirection) {
  const Network direction =
      tree::map([](const Array& x) { return x * 0 + 2; }, quadratic_network());
  const auto [value, slope] = jvp(energy, std::tuple(quadratic_network()), std::tuple(direction));
  double sum = 0;
  for (const double each : differences(energy, quadratic_network())) sum += 2 * each;
  EXPECT_EQ(value.item<double>(), energy(quadratic_network()).item<double>());
  EXPECT_NEAR(slope.item<double>(), sum, 1e-8);
  // A null tangent is zero.
  const auto [y, tangent] = jvp(weighted, std::tuple(layer(1, 5), Array::of<float>({3, 4}), 1),
                                std::tuple(Layer{Array(), Array::scalar(4.f)}, Array(), 1));
  EXPECT_EQ(tangent.item<float>(), 4);
}

TEST(VjpOfTrees, PullsCotangentsBack) {
  const auto f = [](const Layer& layer, const Array& x) {
    return std::pair(layer.weights * x, layer.shift);
  };
  const auto [value, pull] = vjp(f, layer(1, 5), Array::of<float>({3, 4}));
  EXPECT_THAT(values<float>(value.first), ElementsAre(3, 8));
  const auto [by_layer, by_x] = pull(std::pair(Array::of<float>({10, 100}), Array()));
  EXPECT_THAT(values<float>(by_layer.weights), ElementsAre(30, 400));
  EXPECT_EQ(by_layer.shift.item<float>(), 0);
  EXPECT_THAT(values<float>(by_x), ElementsAre(10, 200));
}

TEST(VjpOfTrees, AuxiliaryDataComeLast) {
  const auto f = [](const Array& x) { return std::pair(x * x, std::string("seen")); };
  const auto [value, pull, aux] = vjp(f, has_aux, Array::scalar(3.f));
  EXPECT_EQ(std::get<0>(pull(Array(1.0))).item<float>(), 6);
  EXPECT_EQ(aux, "seen");
  const auto [y, push, again] = linearize(f, has_aux, Array::scalar(3.f));
  EXPECT_EQ(push(2.0).item<float>(), 12);
  const auto results = jvp(f, has_aux, std::tuple(3.f), std::tuple(1.f));
  EXPECT_EQ(std::get<2>(results), "seen");
}

TEST(LinearizeTrees, PushesTangentsForward) {
  const auto [value, push] = linearize(energy, quadratic_network());
  const Network direction =
      tree::map([](const Array& x) { return x * 0 + 1; }, quadratic_network());
  double sum = 0;
  for (const double each : differences(energy, quadratic_network())) sum += each;
  EXPECT_NEAR(push(direction).item<double>(), sum, 1e-8);
}

TEST(LinearTranspose, OfAMapOfStructs) {
  const auto f = [](const Layer& layer) { return layer.weights * 3 + layer.shift; };
  const auto [cotangent] = linear_transpose(f, layer(0, 0))(Array::of<float>({1, 10}));
  EXPECT_THAT(values<float>(cotangent.weights), ElementsAre(3, 30));
  EXPECT_EQ(cotangent.shift.item<float>(), 11);
}

// ---- errors ----

TEST(GradErrors, OfWhatIsNoScalar) {
  const auto twice = [](const Array& x) { return x * 2; };
  EXPECT_EQ(refused([&] {
              grad(twice)(Array::of<float>({1, 2}));
            }),
            "grad: the function must return a scalar; its result has shape [2] (it is f32[2]). For "
            "an array use jacrev, or sum it up");
  EXPECT_EQ(
      refused([&] { value_and_grad([](const Array&) { return Array::scalar(1); })(1.f); }),
      "value_and_grad: the function's result is i32[], but must be a float; for other results "
      "use vjp");
}

TEST(GradErrors, ByAnInteger) {
  EXPECT_EQ(refused([] {
              grad(weighted)(Layer{Array::of<int>({1, 2}), 1.f}, Array(1.f), 1);
            }),
            "grad: argument 0.weights is i32[2]; derivatives are with respect to floats or complex "
            "numbers. Make it a float, choose other argnums, or set the option allow_int where the "
            "function has it");
  EXPECT_EQ(refused([] { jacfwd([](const Array& x) { return x; })(Array::scalar(1)); }),
            "jacfwd: argument 0 is i32[]; derivatives are with respect to floats. Make it a float, "
            "choose other argnums, or set the option allow_int where the function has it");
}

TEST(GradErrors, OfComplexNumbers) {
  const Array z = Array::scalar(std::complex<float>(1, 2));
  const auto square = [](const Array& x) { return x * x; };
  EXPECT_EQ(
      refused([&] { grad(square)(z); }),
      "grad: the function's result is c64[], but must be real. For the derivative of a holomorphic "
      "function set the option holomorphic; for other functions of complex numbers use jvp or vjp");
  EXPECT_EQ(refused([&] { grad(square, {.holomorphic = true})(1.f); }),
            "grad: argument 0 is f32[]; with the option holomorphic it must be complex");
  const Array slope = grad(square, {.holomorphic = true})(z);
  EXPECT_EQ(slope.item<std::complex<float>>(), std::complex<float>(2, 4));
}

TEST(JvpErrors, TangentsOfOtherTypes) {
  const auto f = [](const Layer& layer) { return layer.weights; };
  const auto call = [&](const Layer& tangent) {
    return [&f, tangent] { jvp(f, std::tuple(layer(1, 2)), std::tuple(tangent)); };
  };
  EXPECT_EQ(refused(call({Array::of<double>({1, 2}), Array()})),
            "jvp: tangents[0].weights must have dtype float32, the dtype of its value; got f64[2]");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, call({Array::of<float>({1}), Array()})),
            "jvp: tangents[0].weights must have the shape [2] of its value; got f32[1]");
  const auto [y, pull] = vjp([](const std::vector<Array>& x) { return x; },
                             std::vector<Array>{Array(1.f), Array(2.f)});
  EXPECT_EQ(refused([&, &pull = pull] { pull({Array(1.f)}); }),
            "vjp: cotangent should have structure [*, *], got [*]");
}

}  // namespace
}  // namespace farcall
