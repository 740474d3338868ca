// Interpolation of images.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/lax.h>
#include <farcall/scipy/ndimage.h>

#include "array_testing.h"

namespace farcall {
namespace {

TEST(MapCoordinates, HasAModeForWhatLiesOutside) {
  const Array x = Array::of<double>({1, 2, 4});
  const Array places = Array::of<double>({0.5, 1.5, 3, -1});
  struct Row {
    const char* mode;
    std::vector<double> expected;
  };
  const Row rows[] = {
      {"constant", {1.5, 3, 9, 9}}, {"nearest", {1.5, 3, 4, 1}}, {"wrap", {1.5, 3, 1, 4}},
      {"mirror", {1.5, 3, 2, 2}},   {"reflect", {1.5, 3, 4, 1}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(doubles(ndimage::map_coordinates(x, {places}, 1, row.mode, 9.0)), row.expected)
        << row.mode;
  }
  EXPECT_THAT(doubles(ndimage::map_coordinates(x, {places}, 0, "nearest")),
              testing::ElementsAre(2, 4, 4, 1));
  const Array m = Array::of<int32_t>({0, 2, 4, 6}, {2, 2});
  const Array half = Array::of<float>({0.5F});
  EXPECT_THAT(doubles(ndimage::map_coordinates(m, {half, half}, 1)), testing::ElementsAre(3));
}

}  // namespace
}  // namespace farcall
