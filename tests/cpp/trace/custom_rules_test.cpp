// custom_jvp, custom_vjp and checkpoint of functions over trees.
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/derivatives.h>
#include <farcall/program/text.h>
#include <farcall/trace/custom_rules.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/vmap.h>

#include "arrays.h"
#include "trees.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::Layer;
using testing::layer;
using testing::values;

// Its rules give ten times the derivative, so that one sees who was asked.
Array product(const Layer& layer, int power) {
  Array y = layer.weights;
  for (int i = 0; i < power; ++i) y = y * layer.shift;
  return y;
}
std::pair<Array, Layer> product_kept(const Layer& layer, int power) {
  return {product(layer, power), layer};
}
Layer product_cotangent(const Layer& kept, const Array& cotangent) {
  return {cotangent * kept.shift * 10, numpy::sum(cotangent * kept.weights) * 10};
}
const auto by_reverse_rule =
    custom_vjp(product, product_kept, product_cotangent, {.name = "product"});

const auto by_forward_rule = custom_jvp(
    product,
    [](const std::tuple<Layer, int>& primals, const std::tuple<Layer, int>& tangents) {
      const auto& [layer, power] = primals;
      const Layer& direction = std::get<0>(tangents);
      return std::pair(product(layer, power),
                       (direction.weights * layer.shift + direction.shift * layer.weights) * 10);
    },
    {.name = "product"});

void check_rules(const auto& f) {
  EXPECT_THAT(values<float>(f(layer(2, 3), 1)), ElementsAre(6, 9));
  const auto total = [&](const Layer& layer) { return numpy::sum(f(layer, 1)); };
  const auto check = [](const Layer& gradient) {
    EXPECT_THAT(values<float>(gradient.weights), ElementsAre(30, 30));
    EXPECT_EQ(gradient.shift.item<float>(), 50);
  };
  check(grad(total)(layer(2, 3)));
  check(jit(grad(total))(layer(2, 3)));
  check(grad(jit(total))(layer(2, 3)));
  const Layer layers{Array::of<float>({2, 3, 4, 5}, {2, 2}), Array::of<float>({3, 4})};
  const Layer gradients = vmap(grad(total))(layers);
  EXPECT_THAT(values<float>(gradients.weights), ElementsAre(30, 30, 40, 40));
  EXPECT_THAT(values<float>(gradients.shift), ElementsAre(50, 90));
}

TEST(CustomVjpOfTrees, TheRuleReplacesTheDerivative) { check_rules(by_reverse_rule); }
TEST(CustomJvpOfTrees, TheRuleReplacesTheDerivative) { check_rules(by_forward_rule); }

TEST(CustomVjpOfTrees, NullCotangentsAreZeroAndTuplesAreTaken) {
  const auto f = custom_vjp(
      [](const Array& x, const Array& y) { return x * y; },
      [](const Array& x, const Array& y) { return std::pair(x * y, y); },
      [](const Array& y, const Array& cotangent) { return std::tuple(cotangent * y, Array()); });
  const auto [by_x, by_y] = grad<0, 1>(f)(2.f, 3.f);
  EXPECT_EQ(by_x.item<float>(), 3);
  EXPECT_EQ(by_y.item<float>(), 0);
}

std::string refused(const std::function<void()>& body) {
  return error_of<TypeError>(ErrorCode::kInvalidArgument, body);
}

TEST(CustomRuleErrors, WhatRulesReturnIsChecked) {
  const auto identity = [](const Array& x) { return x; };
  const auto kept = [](const Array& x) { return std::pair(x, x); };
  const auto f = custom_vjp(identity, kept,
                            [](const Array&, const Array&) {
                              return Array::of<float>({1, 2});
                            },
                            {.name = "f"});
  EXPECT_EQ(refused([&] { grad(f)(Array::scalar(1.f)); }),
            "the bwd rule of custom_vjp function f: cotangent[0] should be f32[], as the value is; "
            "got f32[2]");
  const auto g = custom_jvp(identity,
                            [](const std::tuple<Array>& x, const std::tuple<Array>&) {
                              return std::pair(std::get<0>(x), Array::scalar(1.0));
                            },
                            {.name = "g"});
  EXPECT_EQ(refused([&] { jvp(g, std::tuple(Array::scalar(1.f)), std::tuple(1.f)); }),
            "the jvp rule of custom_jvp function g: tangent result should be f32[], as the value "
            "is; got f64[]");
}

TEST(CustomRuleErrors, AReverseRuleHasNoForwardMode) {
  EXPECT_THAT(
      error_of<TypeError>(
          ErrorCode::kInvalidArgument,
          [] { jvp(by_reverse_rule, std::tuple(layer(1, 2), 1), std::tuple(layer(1, 2), 1)); }),
      HasSubstr("can't apply forward-mode differentiation"));
}

TEST(CheckpointOfTrees, KeepsArgumentsAlone) {
  const auto f = [](const Layer& layer) { return numpy::sum(numpy::sin(layer.weights)); };
  const auto wrapped = checkpoint(f, {.name = "f"});
  const Layer at = layer(1, 2);
  EXPECT_EQ(wrapped(at).item<float>(), f(at).item<float>());
  EXPECT_EQ(values<float>(grad(wrapped)(at).weights), values<float>(grad(f)(at).weights));
  EXPECT_THAT(to_text(*make_jaxpr(grad(wrapped))(at)), HasSubstr("checkpoint["));
}

}  // namespace
}  // namespace farcall
