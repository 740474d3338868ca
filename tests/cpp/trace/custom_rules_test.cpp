// custom_jvp, custom_vjp, custom_vmap and checkpoint of functions over trees.
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/loops.h>
#include <farcall/program/text.h>
#include <farcall/trace/checkpoint.h>
#include <farcall/trace/custom_rules.h>
#include <farcall/trace/derivatives.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/vmap.h>

#include "arrays.h"
#include "trees.h"

namespace farcall {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::Layer;
using testing::layer;
using testing::refused;
using testing::values;

// Its rules return ten times the derivative, which shows which rule ran.
Array scaled_power(const Layer& layer, int power) {
  Array y = layer.weights;
  for (int i = 0; i < power; ++i) y = y * layer.shift;
  return y;
}
std::pair<Array, Layer> product_kept(const Layer& layer, int power) {
  return {scaled_power(layer, power), layer};
}
Layer product_cotangent(const Layer& kept, const Array& cotangent) {
  return {cotangent * kept.shift * 10, numpy::sum(cotangent * kept.weights) * 10};
}
const auto by_reverse_rule =
    custom_vjp(scaled_power, product_kept, product_cotangent, {.name = "product"});

const auto by_forward_rule = custom_jvp(
    scaled_power,
    [](const std::tuple<Layer, int>& primals, const std::tuple<Layer, int>& tangents) {
      const auto& [layer, power] = primals;
      const Layer& direction = std::get<0>(tangents);
      return std::pair(scaled_power(layer, power),
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

TEST(CustomRuleErrors, WhatRulesReturnIsChecked) {
  const auto identity = [](const Array& x) { return x; };
  const auto kept = [](const Array& x) { return std::pair(x, x); };
  const auto f = custom_vjp(identity, kept,
                            [](const Array&, const Array&) {
                              return Array::of<float>({1, 2});
                            },
                            {.name = "f"});
  EXPECT_EQ(refused([&] { grad(f)(Array::scalar(1.f)); }),
            "the bwd rule of custom_vjp function f: cotangent[0] must be f32[], the type of its "
            "value; got f32[2]");
  const auto g = custom_jvp(identity,
                            [](const std::tuple<Array>& x, const std::tuple<Array>&) {
                              return std::pair(std::get<0>(x), Array::scalar(1.0));
                            },
                            {.name = "g"});
  EXPECT_EQ(refused([&] { jvp(g, std::tuple(Array::scalar(1.f)), std::tuple(1.f)); }),
            "the jvp rule of custom_jvp function g: tangent result must be f32[], the type of its "
            "value; got f64[]");
}

TEST(CustomRuleErrors, AReverseRuleHasNoForwardMode) {
  EXPECT_THAT(
      error_of<TypeError>(
          ErrorCode::kInvalidArgument,
          [] { jvp(by_reverse_rule, std::tuple(layer(1, 2), 1), std::tuple(layer(1, 2), 1)); }),
      HasSubstr("can't apply forward-mode differentiation"));
}

// A layer scaled by a factor. The rule adds 100, which shows that it ran.
Layer scaled(const Layer& layer, const Array& factor) {
  return {layer.weights * factor, layer.shift + factor};
}
const auto scaled_by_rule =
    custom_vmap(scaled,
                [](const VmapOptions& batch, const Layer& layer, const Array& factor) {
                  Layer results = vmap(scaled, batch)(layer, factor);
                  results.weights = results.weights + 100;
                  return results;
                },
                {.name = "scaled"});
const Layer kLayers{Array::of<float>({1, 2, 3, 4}, {2, 2}), Array::of<float>({5, 6})};

void check_batched(const Layer& results) {
  EXPECT_THAT(values<float>(results.weights), ElementsAre(110, 120, 130, 140));
  EXPECT_THAT(values<float>(results.shift), ElementsAre(15, 16));
}

TEST(CustomVmapOfTrees, TheRuleReplacesTheBatchOfTheFunction) {
  EXPECT_THAT(values<float>(scaled_by_rule(layer(2, 3), 10.f).weights), ElementsAre(20, 30));
  const VmapOptions by_layer{.in_axes = {0, std::nullopt}};
  check_batched(vmap(scaled_by_rule, by_layer)(kLayers, 10.f));
  check_batched(jit(vmap(scaled_by_rule, by_layer))(kLayers, 10.f));
  check_batched(vmap(jit(scaled_by_rule), by_layer)(kLayers, 10.f));
  const Layer columns{Array::of<float>({1, 3, 2, 4}, {2, 2}), kLayers.shift};
  check_batched(vmap(scaled_by_rule, {.in_axes = {MappedAxes{1, 0}, std::nullopt}})(columns, 10.f));
}

TEST(CustomVmapOfTrees, TheRuleIsToldWhatIsBatched) {
  std::vector<bool> seen;
  const auto f =
      custom_vmap(scaled, [&](const VmapOptions& batch, const Layer& layer, const Array& factor) {
        seen = {batch.in_axes[0][0].is_mapped(), batch.in_axes[0][1].is_mapped(),
                batch.in_axes[0].is_mapped(), batch.in_axes[1].is_mapped()};
        EXPECT_EQ(batch.axis_size, 2);
        EXPECT_EQ(layer.weights.shape().size(), 1u);
        return std::pair(Layer{layer.weights * numpy::max(factor), factor + layer.shift},
                         MappedAxes{std::nullopt, 0});
      });
  const Layer results =
      vmap(f, {.in_axes = {std::nullopt, 0}})(layer(2, 3), Array::of<float>({5, 6}));
  EXPECT_THAT(seen, ElementsAre(false, false, false, true));
  EXPECT_THAT(values<float>(results.weights), ElementsAre(12, 18, 12, 18));
  EXPECT_THAT(values<float>(results.shift), ElementsAre(8, 9));
}

TEST(CustomVmapOfTrees, BatchesOfBatchesAndDerivativesGoThroughTheRule) {
  const auto rows = custom_vmap(
      [](const Array& x) { return numpy::sum(x * x); },
      [](const VmapOptions&, const Array& x) { return numpy::sum(x * x, numpy::Axes{{1}}) * 10; });
  const Array x = Array::of<float>({1, 2, 3, 4}, {2, 2});
  EXPECT_THAT(values<float>(vmap(rows)(x)), ElementsAre(50, 250));
  const auto total = [&](const Array& all) { return numpy::sum(vmap(rows)(all)); };
  EXPECT_THAT(values<float>(grad(total)(x)), ElementsAre(20, 40, 60, 80));
}

TEST(CustomVmapOfTrees, SequentialVmapCallsForOneElementAfterTheOther) {
  std::vector<std::string> types;
  const auto f = sequential_vmap([&](const Layer& layer, const Array& factor) {
    types.push_back(layer.weights.type().to_string() + factor.type().to_string());
    return scaled(layer, factor);
  });
  const VmapOptions by_layer{.in_axes = {0, std::nullopt}};
  for (const Layer& results :
       {vmap(f, by_layer)(kLayers, 10.f), jit(vmap(f, by_layer))(kLayers, 10.f)}) {
    EXPECT_THAT(values<float>(results.weights), ElementsAre(10, 20, 30, 40));
    EXPECT_THAT(values<float>(results.shift), ElementsAre(15, 16));
  }
  EXPECT_THAT(types, Each("f32[2]f32[]*"));
}

TEST(CustomRuleErrors, WhatRulesForVmapReturnIsChecked) {
  const auto identity = [](const Array& x) { return x; };
  const auto summed = [](const VmapOptions&, const Array& x) { return numpy::sum(x); };
  const Array x = Array::of<float>({1, 2});
  EXPECT_EQ(error_of<Error>(ErrorCode::kInvalidArgument,
                            [&] { vmap(custom_vmap(identity, summed, {.name = "f"}))(x); }),
            "the vmap rule of custom_vmap function f: result should have the batch of 2 along its "
            "axis 0, got f32[]. If a result is not batched, the rule's second value must say so");
  const auto other = [](const VmapOptions&, const Array& x) {
    return lax::convert_element_type(x, DType::kInt32);
  };
  EXPECT_EQ(refused([&] { vmap(jit(custom_vmap(identity, other, {.name = "f"})))(x); }),
            "the vmap rule of custom_vmap function f must return results of the types that the "
            "function returns: expected (f32[]), got (i32[])");
  const auto wrong_axes = [](const VmapOptions&, const Array& x) {
    return std::pair(x, MappedAxes{0, 0});
  };
  EXPECT_THAT(error_of<Error>(ErrorCode::kInvalidArgument,
                              [&] { vmap(custom_vmap(identity, wrong_axes))(x); }),
              HasSubstr("must be a tree prefix"));
}

TEST(CheckpointOfTrees, KeepsArgumentsAlone) {
  const auto f = [](const Layer& layer) { return numpy::sum(numpy::sin(layer.weights)); };
  const auto wrapped = checkpoint(f, {.name = "f"});
  const Layer at = layer(1, 2);
  EXPECT_EQ(wrapped(at).item<float>(), f(at).item<float>());
  EXPECT_EQ(values<float>(grad(wrapped)(at).weights), values<float>(grad(f)(at).weights));
  EXPECT_THAT(to_text(*make_jaxpr(grad(wrapped))(at)), HasSubstr("checkpoint["));
}

TEST(Checkpoint, PoliciesAreJoinedWithOneListOfNames) {
  using Names = std::vector<std::string>;
  const SavePolicy only = {"save_only_these_names", {"a", "b"}};
  const SavePolicy but = {"save_any_names_but_these", {"b", "c"}};
  const SavePolicy except = {"save_anything_except_these_names", {"c", "d"}};
  const std::tuple<SavePolicy, SavePolicy, const char*, Names> rows[] = {
      {{"dots_saveable"}, only, "dots_saveable or save_only_these_names", {"a", "b"}},
      {only, {"save_only_these_names", {"b", "c"}}, "save_only_these_names", {"a", "b", "c"}},
      {only, but, "save_any_names_but_these", {"c"}},
      {but, only, "save_any_names_but_these", {"c"}},
      {but, except, "save_anything_except_these_names", {"c"}},
      {except, only, "save_anything_except_these_names", {"c", "d"}},
      {{"dots_saveable"}, {"dots_saveable"}, "dots_saveable", {}},
  };
  for (const auto& [first, second, name, names] : rows) {
    const SavePolicy both = save_from_both(first, second);
    EXPECT_EQ(both.name, name);
    EXPECT_EQ(both.names, names) << name;
  }
  EXPECT_THAT(error_of<Error>(ErrorCode::kInvalidArgument, [&] { save_from_both(only, {"all"}); }),
              HasSubstr("unknown policy all"));
}

}  // namespace
}  // namespace farcall
