// Trees of arrays: structure, leaves, and functions of trees.
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/trace/tree.h>

#include "arrays.h"
#include "trees.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using testing::Layer;
using testing::layer;
using testing::Network;
using testing::values;

Network network() {
  return {layer(1, 2), {layer(3, 4), layer(5, 6)}, {{"a", Array::scalar(7.f)}}, {}, 2};
}

std::vector<float> first_elements(const std::vector<Array>& arrays) {
  std::vector<float> first;
  for (const Array& array : arrays) first.push_back(array.values<float>()[0]);
  return first;
}

TEST(Tree, WhatHoldsArraysIsOne) {
  static_assert(Tree<Array> && Tree<std::vector<Array>> && Tree<std::array<Array, 2>>);
  static_assert(Tree<std::pair<int, Array>> && Tree<std::optional<Layer>> && Tree<Network>);
  static_assert(!Tree<int> && !Tree<std::string> && !Tree<std::vector<int>> && !Tree<std::tuple<>>);
}

TEST(Tree, LeavesComeInOrder) {
  EXPECT_THAT(first_elements(tree::leaves(network())), ElementsAre(1, 2, 3, 4, 5, 6, 7));
  const std::tuple all(Array::scalar(1.f), std::array{Array::scalar(2.f), Array::scalar(3.f)}, 4,
                       std::optional(Array::scalar(5.f)));
  EXPECT_THAT(first_elements(tree::leaves(all)), ElementsAre(1, 2, 3, 5));
}

TEST(Tree, StructuresReadAsText) {
  EXPECT_EQ(tree::structure(network()).to_string(),
            "{.first: {.weights: *, .shift: *}, .hidden: [{.weights: *, .shift: *}, {.weights: *, "
            ".shift: *}], .scales: {[\"a\"]: *}, .bias: None, .power: static}");
  EXPECT_EQ(tree::structure(std::tuple(Array())).to_string(), "(*,)");
}

TEST(Tree, LeavesHavePaths) {
  const TreeDef structure = tree::structure(network());
  EXPECT_EQ(leaf_path(structure, 1), ".first.shift");
  EXPECT_EQ(leaf_path(structure, 4), ".hidden[1].weights");
  EXPECT_EQ(leaf_path(structure, 6), ".scales[\"a\"]");
  EXPECT_EQ(leaf_path(tree::structure(std::map<int, Array>{{-3, Array()}}), 0), "[-3]");
}

TEST(Tree, StructuresDifferByLengthKeyAndStaticPart) {
  const TreeDef structure = tree::structure(network());
  EXPECT_EQ(structure, tree::structure(network()));
  Network other = network();
  other.hidden.pop_back();
  EXPECT_FALSE(structure == tree::structure(other));
  other = network();
  other.scales = {{"b", Array()}};
  EXPECT_FALSE(structure == tree::structure(other));
  other = network();
  other.bias = Array();
  EXPECT_FALSE(structure == tree::structure(other));
  other = network();
  other.power = 3;
  EXPECT_FALSE(structure == tree::structure(other));
}

TEST(Tree, MapKeepsTheStructure) {
  const Network sums =
      tree::map([](const Array& a, const Array& b) { return a + b; }, network(), network());
  EXPECT_EQ(tree::structure(sums), tree::structure(network()));
  EXPECT_EQ(sums.power, 2);
  EXPECT_THAT(values<float>(sums.hidden[1].weights), ElementsAre(10, 12));
}

TEST(Tree, MapRefusesOtherStructures) {
  const std::vector<Array> one{Array()}, two{Array(), Array()};
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [&] { tree::map([](const Array& a, const Array&) { return a; }, one, two); }),
            "tree::map: all trees must have one structure, got [*] and [*, *]");
}

}  // namespace
}  // namespace farcall
