// Loops and branches over trees, compared with plain C++.
#include <functional>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/loops.h>
#include <farcall/trace/derivatives.h>
#include <farcall/trace/jit.h>

#include "arrays.h"
#include "trees.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using testing::Layer;
using testing::layer;
using testing::refused;
using testing::values;

const Array kXs = Array::of<float>({1, 2, 3});

TEST(ScanOfTrees, CarriesAStructAndStacksPairs) {
  const auto step = [](const Layer& carry, const std::pair<Array, Array>& x) {
    const Layer next{carry.weights * x.first, carry.shift + x.second};
    return std::pair(next, std::tuple(carry.shift, 7));
  };
  const auto [end, ys] = lax::scan(step, layer(1, 10), std::pair(kXs, kXs * 2));
  EXPECT_THAT(values<float>(end.weights), ElementsAre(6, 12));
  EXPECT_EQ(end.shift.item<float>(), 22);
  EXPECT_THAT(values<float>(std::get<0>(ys)), ElementsAre(10, 12, 16));
  EXPECT_EQ(std::get<1>(ys), 7);
}

TEST(ScanOfTrees, WithoutXsRunsForALength) {
  const auto step = [](const Array& carry, std::nullopt_t) { return std::pair(carry * 2, carry); };
  const auto [end, ys] = lax::scan(step, 1.f, std::nullopt, {.length = 3});
  EXPECT_EQ(end.item<float>(), 8);
  EXPECT_THAT(values<float>(ys), ElementsAre(1, 2, 4));
}

TEST(ScanOfTrees, IsDifferentiated) {
  const auto power = [](const Array& x) {
    const auto step = [&](const Array& carry, const Array&) { return std::pair(carry * x, carry); };
    return lax::scan(step, Array::scalar(1.f), kXs).first;
  };
  EXPECT_EQ(grad(power)(2.f).item<float>(), 12);
  EXPECT_EQ(jit(grad(power))(2.f).item<float>(), 12);
}

TEST(WhileOfTrees, RunsAsLongAsTheConditionHolds) {
  const auto is_small = [](const Layer& carry) { return carry.shift < 10; };
  const auto grow = [](const Layer& carry) { return Layer{carry.weights * 2, carry.shift + 4}; };
  const Layer end = lax::while_loop(is_small, grow, layer(1, 0));
  EXPECT_THAT(values<float>(end.weights), ElementsAre(8, 16));
  EXPECT_EQ(end.shift.item<float>(), 12);
}

TEST(ForOfTrees, CountsAndKeepsStaticParts) {
  const auto step = [](const Array& i, const std::pair<Array, int>& carry) {
    return std::pair(carry.first + i * carry.second, carry.second);
  };
  EXPECT_EQ(lax::fori_loop(2, 5, step, std::pair(Array(0), 10)).first.item<int>(), 90);
}

TEST(BranchesOfTrees, RunTheChosenOne) {
  const auto twice = [](const Layer& layer) { return std::vector{layer.weights * 2}; };
  const auto same = [](const Layer& layer) { return std::vector{layer.weights}; };
  const auto half = [](const Layer& layer) { return std::vector{layer.weights / 2}; };
  const Layer operand = layer(2, 1);
  EXPECT_THAT(values<float>(lax::cond(true, twice, same, operand)[0]), ElementsAre(4, 6));
  EXPECT_THAT(values<float>(lax::cond(false, twice, same, operand)[0]), ElementsAre(2, 3));
  const auto choose = [&](const Array& index) {
    return lax::switch_(index, std::tuple(twice, same, half), operand)[0];
  };
  EXPECT_THAT(values<float>(jit(choose)(2)), ElementsAre(1, 1.5));
  EXPECT_THAT(values<float>(choose(-5)), ElementsAre(4, 6));
}

TEST(MapOfTrees, InTurnAndByBatches) {
  const auto f = [](const Layer& layer) { return std::pair(layer.weights + layer.shift, 1); };
  const Layer layers{kXs, kXs * 10};
  EXPECT_THAT(values<float>(lax::map(f, layers).first), ElementsAre(11, 22, 33));
  EXPECT_THAT(values<float>(lax::map(f, layers, 2).first), ElementsAre(11, 22, 33));
}

TEST(AssociativeScanOfTrees, RunsAlongTheAxis) {
  // Composition of the maps x -> w x + s.
  const auto compose = [](const Layer& a, const Layer& b) {
    return Layer{a.weights * b.weights, a.shift * b.weights + b.shift};
  };
  const Layer end = lax::associative_scan(compose, Layer{kXs, kXs});
  EXPECT_THAT(values<float>(end.weights), ElementsAre(1, 2, 6));
  EXPECT_THAT(values<float>(end.shift), ElementsAre(1, 4, 15));
}

// ---- errors ----

TEST(LoopErrors, CarriesOfAnotherTypeAreNamed) {
  const auto step = [](const Layer& carry, const Array& x) {
    return std::pair(Layer{carry.weights, numpy::astype(carry.shift, DType::kFloat64)}, x);
  };
  EXPECT_EQ(refused([&] { lax::scan(step, layer(1, 2), kXs); }),
            "scan: the body must return a carry of the types that it gets:\n"
            "  carry.shift is f32[] as input, f64[] as output\n"
            "Convert the initial value, or what the body returns, so that they agree");
}

TEST(LoopErrors, CarriesOfAnotherStructure) {
  const auto step = [](const Array&, const std::vector<Array>& carry) {
    return std::vector<Array>{carry[0]};
  };
  const std::vector<Array> two{Array(1), Array(2)};
  EXPECT_EQ(refused([&] { lax::fori_loop(0, 3, step, two); }),
            "fori_loop: the body must return a carry of the structure that it gets; input:\n"
            "  [*, *]\noutput:\n  [*]");
}

TEST(LoopErrors, XsOfSeveralLengths) {
  const auto step = [](const Array& carry, const Layer& x) { return std::pair(carry, x); };
  EXPECT_EQ(
      error_of(ErrorCode::kInvalidArgument,
               [&] {
                 lax::scan(step, Array(1), Layer{kXs, Array::of<float>({1, 2})});
               }),
      "scan: xs must have one leading dimension:\n  xs.weights is f32[3]\n  xs.shift is f32[2]");
}

TEST(LoopErrors, BranchesThatDiffer) {
  const auto one = [](const Array& x) { return std::vector{x}; };
  const auto two = [](const Array& x) { return std::vector{x, x}; };
  EXPECT_EQ(refused([&] { lax::cond(true, one, two, kXs); }),
            "cond: all branches must return the same structure; false_fun returns\n"
            "  [*, *]\ntrue_fun returns\n  [*]");
}

}  // namespace
}  // namespace farcall
