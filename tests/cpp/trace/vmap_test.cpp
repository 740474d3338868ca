// vmap over trees, compared with calls for each element.
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/collectives.h>
#include <farcall/trace/vmap.h>

#include "arrays.h"
#include "trees.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using testing::Layer;
using testing::layer;
using testing::shape;
using testing::values;

const Array kRows = Array::of<float>({1, 2, 3, 4, 5, 6}, {3, 2});

Array apply(const Layer& layer, const Array& x) {
  return numpy::sum(layer.weights * x) + layer.shift;
}

TEST(Vmap, OfAStructThatIsNotMapped) {
  const Array y = vmap(apply, {.in_axes = {std::nullopt, 0}})(layer(1, 10), kRows);
  EXPECT_THAT(values<float>(y), ElementsAre(15, 21, 27));  // x + 2 y + 10
}

TEST(Vmap, AxesByPartOfATree) {
  const Layer layers{kRows, Array::scalar(1.f)};
  const Array x = Array::of<float>({1, 10});
  const auto f = vmap(apply, {.in_axes = {{0, std::nullopt}, std::nullopt}});
  EXPECT_THAT(values<float>(f(layers, x)), ElementsAre(22, 44, 66));
}

TEST(Vmap, AxesCountFromTheEndAndMoveInResults) {
  const auto f = vmap([](const Array& x) { return std::pair(x, numpy::sum(x)); },
                      {.in_axes = -1, .out_axes = {1, 0}});
  const auto [x, sum] = f(kRows);
  EXPECT_THAT(shape(x), ElementsAre(3, 2));
  EXPECT_THAT(values<float>(x), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(values<float>(sum), ElementsAre(9, 12));
}

TEST(Vmap, NumbersAndStaticArgumentsStayWhatTheyAre) {
  const auto f = [](const Array& x, int power, const Array& offset) {
    Array product = offset;
    for (int i = 0; i < power; ++i) product = product * x;
    return product;
  };
  const Array y =
      vmap(f, {.in_axes = {0, std::nullopt, std::nullopt}})(Array::of<float>({1, 2, 3}), 2, 10.0);
  EXPECT_THAT(values<float>(y), ElementsAre(10, 40, 90));
}

TEST(Vmap, NamedAxesAndTheirSize) {
  const std::string names[] = {"i"};
  const auto f = [&](const Array& x) { return x / lax::psum(x, names); };
  EXPECT_THAT(values<float>(vmap(f, {.axis_name = "i"})(Array::of<float>({1, 3}))),
              ElementsAre(0.25, 0.75));
  const auto constant = vmap([] { return Array::scalar(2.f); }, {.axis_size = 3});
  EXPECT_THAT(values<float>(constant()), ElementsAre(2, 2, 2));
}

TEST(Vmap, NestedIsATable) {
  const auto product = [](const Array& x, const Array& y) { return x * y; };
  const auto table =
      vmap(vmap(product, {.in_axes = {std::nullopt, 0}}), {.in_axes = {0, std::nullopt}});
  EXPECT_THAT(values<float>(table(Array::of<float>({1, 2}), Array::of<float>({3, 4}))),
              ElementsAre(3, 4, 6, 8));
}

std::string invalid(const std::function<void()>& body) {
  return error_of(ErrorCode::kInvalidArgument, body);
}

TEST(VmapErrors, SizesThatDiffer) {
  EXPECT_EQ(invalid([] {
              vmap(apply)(Layer{kRows, numpy::ones({{2}})}, kRows);
            }),
            "vmap: the mapped axes have inconsistent sizes:\n"
            "  * argument 0.weights of type f32[3,2] has size 3 in axis 0\n"
            "  * argument 0.shift of type f32[2] has size 2 in axis 0\n"
            "  * argument 1 of type f32[3,2] has size 3 in axis 0");
}

TEST(VmapErrors, AxesThatAreNotThere) {
  EXPECT_EQ(
      invalid([] { vmap(apply)(layer(1, 2), kRows); }),
      "vmap: argument 0.shift should be mapped over its axis 0, but has rank 0 (it is f32[]). "
      "Give in_axes None for arguments that are not mapped");
  EXPECT_EQ(invalid([] { vmap(apply, {.in_axes = {0}})(layer(1, 2), kRows); }),
            "vmap: in_axes {0} has 1 entries, but 2 arguments were given; it must be an int, None "
            "(std::nullopt), or a list with an entry for each of them");
  EXPECT_EQ(invalid([] {
              vmap(apply, {.in_axes = {{0, 0, 0}, 0}})(layer(1, 2), kRows);
            }),
            "vmap: in_axes must be a tree prefix of the value that it belongs to: got {0, 0, 0} "
            "where the value has structure {.weights: *, .shift: *}");
  EXPECT_EQ(invalid([] { vmap(apply, {.in_axes = std::nullopt})(layer(1, 2), kRows); }),
            "vmap: no argument is mapped: set in_axes to an axis for at least one of them, or pass "
            "axis_size");
}

TEST(VmapErrors, ResultsThatDiffer) {
  const auto twice = [](const Array& x) { return std::vector<Array>{x, x}; };
  EXPECT_EQ(
      invalid([&] {
        vmap(twice, {.out_axes = {0, std::nullopt}})(kRows);
      }),
      "vmap: result[1] differs along the mapped axis, but out_axes is None for it; give it an "
      "axis");
  EXPECT_EQ(invalid([&] { vmap(twice, {.out_axes = 2})(kRows); }),
            "vmap: result[0]: axis 2 of out_axes is out of bounds for the mapped result, which has "
            "rank 2");
}

}  // namespace
}  // namespace farcall
