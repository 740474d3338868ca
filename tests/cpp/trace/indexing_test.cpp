// Indexing with arrays from C++, and the errors of its primitives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/indexing.h>
#include <farcall/ops/numpy_indexing.h>
#include <farcall/trace/jit.h>

#include "arrays.h"

namespace farcall {
namespace {

using numpy::Ellipsis;
using numpy::Index;
using numpy::Slice;
using ::testing::ElementsAre;
using testing::error_of;
using testing::shape;
using testing::values;
using Indices = std::vector<Index>;

TEST(ArrayIndexing, ArraysStandWhereTheFirstStoodOrInFront) {
  const Array x = testing::counting({2, 3, 4});
  const Array rows = Array::of<int32_t>({1, 0, 1}), columns = Array::of<int32_t>({2, 0, -1});
  EXPECT_THAT(shape(numpy::take(x, Indices{Slice{}, rows, Slice{0, 2}})), ElementsAre(2, 3, 2));
  EXPECT_THAT(shape(numpy::take(x, Indices{rows, Slice{}, columns})), ElementsAre(3, 3));
  EXPECT_THAT(values<int32_t>(numpy::take(x, Indices{rows, columns, int64_t{1}})),
              ElementsAre(21, 1, 21));
}

TEST(ArrayIndexing, MasksStandForThePlacesOfTheirTrueElements) {
  const Array x = testing::counting({2, 3});
  const Array mask = Array::of<bool>({false, true, true, false, false, true}, {2, 3});
  EXPECT_THAT(values<int32_t>(numpy::take(x, Indices{mask})), ElementsAre(1, 2, 5));
  EXPECT_EQ(error_of<NonConcreteBooleanIndexError>(
                ErrorCode::kFailedPrecondition,
                [&] { jit([&](const Array& m) { return numpy::take(x, Indices{m}); })(mask); }),
            "indexing i32[2,3]: the mask bool[2,3] is traced, so that the shape of the result is "
            "not known: its values are not known while jit is traced; it is argument 0. Use "
            "where(mask, x, y), or nonzero with size=, or call this part outside jit");
}

TEST(ArrayIndexing, Updates) {
  const Array x = testing::counting({3, 2});
  const Indices rows{Array::of<int32_t>({0, 0, 2, 9})};
  const auto updated = [&](numpy::Update how) {
    return values<int32_t>(numpy::update(x, rows, 10, how));
  };
  EXPECT_THAT(updated(numpy::Update::kSet), ElementsAre(10, 10, 2, 3, 10, 10));
  EXPECT_THAT(updated(numpy::Update::kAdd), ElementsAre(20, 21, 2, 3, 14, 15));
  EXPECT_THAT(updated(numpy::Update::kMultiply), ElementsAre(0, 100, 2, 3, 40, 50));
  EXPECT_THAT(updated(numpy::Update::kMin), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(updated(numpy::Update::kMax), ElementsAre(10, 10, 2, 3, 10, 10));
}

TEST(ArrayIndexing, StartsBelowZeroCountFromTheEnd) {
  const Array x = testing::counting({5});
  const Array start[] = {Array::scalar(-2)};
  EXPECT_THAT(values<int32_t>(lax::dynamic_slice(x, start, Shape{2})), ElementsAre(3, 4));
  EXPECT_THAT(values<int32_t>(lax::dynamic_slice(x, start, Shape{2}, false)), ElementsAre(0, 1));
  // An index dtype that cannot represent the size.
  const Array narrow[] = {Array::scalar<int8_t>(-1)};
  EXPECT_THAT(values<int32_t>(lax::dynamic_slice(testing::counting({300}), narrow, Shape{1})),
              ElementsAre(299));
}

TEST(ArrayIndexing, DimensionNumbersThatDoNotFit) {
  const Array x = testing::counting({3, 4}), at = Array::of<int32_t>({0, 1}, {2, 1});
  const auto error = [&](const GatherDimensionNumbers& numbers) {
    return error_of(ErrorCode::kInvalidArgument, [&] { lax::gather(x, at, numbers, Shape{1, 4}); });
  };
  EXPECT_EQ(error({{1}, {0}, {2}, {}, {}}),
            "gather: start_index_map [2] must be distinct and lie in [0, 2)");
  EXPECT_EQ(error({{1}, {5}, {0}, {}, {}}),
            "gather: collapsed_slice_dims [5] must increase and lie in [0, 2)");
  EXPECT_EQ(error({{1}, {0}, {0}, {0}, {0}}),
            "gather: dimension 0 is in collapsed_slice_dims and in operand_batching_dims");
  EXPECT_EQ(error({{1}, {}, {1}, {0}, {0}}),
            "gather: batching dimension 0 of i32[3,4] and 0 of i32[2,1] differ in size");
  EXPECT_EQ(error({{1}, {}, {1}, {0}, {}}),
            "gather: operand_batching_dims [0] and start_indices_batching_dims [] must be of one "
            "length");
}

TEST(ArrayIndexing, InBrackets) {
  const Array x = testing::counting({2, 3});
  EXPECT_THAT(values<int32_t>(x[1]), ElementsAre(3, 4, 5));
  EXPECT_THAT(values<int32_t>(x[-1]), ElementsAre(3, 4, 5));
  EXPECT_THAT(values<int32_t>(x[Slice{0, 1}]), ElementsAre(0, 1, 2));
  EXPECT_THAT(values<int32_t>(x[{Slice{}, 1}]), ElementsAre(1, 4));
  EXPECT_THAT(values<int32_t>(x[{Ellipsis(), Slice{2}}]), ElementsAre(2, 5));
  EXPECT_THAT(shape(x[numpy::NewAxis()]), ElementsAre(1, 2, 3));
  EXPECT_THAT(values<int32_t>(x[Array::of<int32_t>({1, 0})]), ElementsAre(3, 4, 5, 0, 1, 2));
  EXPECT_EQ((x[{1, 2}].item<int32_t>()), 5);
  EXPECT_THROW(x[2], Error);
}

}  // namespace
}  // namespace farcall
