#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/layout.h>

namespace farcall {
namespace {

using testing::ElementsAre;
using Axes = std::vector<int64_t>;

TEST(Layout, RowMajor) {
  EXPECT_THAT(row_major(3).major_to_minor, ElementsAre(0, 1, 2));
  EXPECT_TRUE(row_major(0).major_to_minor.empty());
  EXPECT_TRUE(is_row_major(row_major(3)));
  EXPECT_TRUE(is_row_major(Layout{}));
  EXPECT_FALSE(is_row_major(Layout{{1, 0}}));
}

TEST(Layout, IsPermutation) {
  EXPECT_TRUE(is_permutation(Axes{}));
  EXPECT_TRUE(is_permutation(Axes{2, 0, 1}));
  EXPECT_FALSE(is_permutation(Axes{0, 0}));
  EXPECT_FALSE(is_permutation(Axes{0, 2}));
  EXPECT_FALSE(is_permutation(Axes{-1, 0}));
}

TEST(Layout, InversePermutation) {
  EXPECT_THAT(inverse_permutation(Axes{2, 0, 1}), ElementsAre(1, 2, 0));
  EXPECT_TRUE(inverse_permutation(Axes{}).empty());
}

TEST(Layout, StridesFollowTheOrderInMemory) {
  const Axes shape = {2, 3, 5};
  EXPECT_THAT(strides_of(shape, row_major(3)), ElementsAre(15, 5, 1));
  EXPECT_THAT(strides_of(shape, Layout{{2, 1, 0}}), ElementsAre(1, 2, 6));
  EXPECT_THAT(strides_of(shape, Layout{{1, 2, 0}}), ElementsAre(1, 10, 2));
  EXPECT_TRUE(strides_of(Axes{}, Layout{}).empty());
}

TEST(Layout, StridesOfAnEmptyArrayDoNotOverflow) {
  const int64_t big = int64_t{1} << 40;
  EXPECT_EQ(strides_of(Axes{0, big, big, 1}, row_major(4)).size(), 4u);
  EXPECT_THAT(strides_of(Axes{0, 3}, row_major(2)), ElementsAre(3, 1));
}

TEST(Layout, Text) {
  EXPECT_EQ(layout_to_string(Layout{{1, 0}}), "(1, 0)");
  EXPECT_EQ(layout_to_string(Layout{}), "()");
}

}  // namespace
}  // namespace farcall
