#include <limits>
#include <thread>
#include <unordered_set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/core/type_text.h>

namespace farcall {
namespace {

using testing::ElementsAre;

std::string error_of(DType dtype, const Shape& shape) {
  try {
    const ShapeDtype type(dtype, shape);
    return "no error: " + type.to_string();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.message();
  }
}

TEST(ShapeDtype, KnowsItsParts) {
  const ShapeDtype type(DType::kFloat32, {2, 3});
  EXPECT_EQ(type.dtype(), DType::kFloat32);
  EXPECT_THAT(type.shape(), ElementsAre(2, 3));
  EXPECT_EQ(type.rank(), 2u);
  EXPECT_EQ(type.size(), 6);
  EXPECT_EQ(type.nbytes(), 24u);
  EXPECT_FALSE(type.weak_type());
  EXPECT_TRUE(type.is_valid());
}

TEST(ShapeDtype, DefaultIsInvalid) {
  const ShapeDtype type;
  EXPECT_FALSE(type.is_valid());
  EXPECT_EQ(type, ShapeDtype());
  EXPECT_EQ(type.nbytes(), 0u);
  EXPECT_EQ(type.to_string(), "invalid[]");
}

TEST(ShapeDtype, EqualTypesAreOneRecord) {
  const ShapeDtype type(DType::kInt32, {4});
  EXPECT_EQ(type, ShapeDtype(DType::kInt32, {4}));
  EXPECT_EQ(type.id(), ShapeDtype(DType::kInt32, {4}).id());
  EXPECT_EQ(type.hash(), ShapeDtype(DType::kInt32, {4}).hash());
  EXPECT_NE(type, ShapeDtype(DType::kUInt32, {4}));
  EXPECT_NE(type, ShapeDtype(DType::kInt32, {4, 1}));
  EXPECT_NE(type, ShapeDtype(DType::kInt32, {4}, /*weak_type=*/true));
}

TEST(ShapeDtype, IsOneRecordFromEveryThread) {
  constexpr int kThreads = 4, kTypes = 100;
  std::vector<std::vector<int64_t>> ids(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : ids) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < kTypes; ++i) mine.push_back(ShapeDtype(DType::kInt8, {7, i}).id());
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& mine : ids) EXPECT_EQ(mine, ids[0]);
  EXPECT_EQ(std::unordered_set<int64_t>(ids[0].begin(), ids[0].end()).size(), kTypes);
}

TEST(ShapeDtype, ChangedCopies) {
  const ShapeDtype weak(DType::kFloat32, {2}, /*weak_type=*/true);
  EXPECT_EQ(weak.strengthened(), ShapeDtype(DType::kFloat32, {2}));
  EXPECT_EQ(weak.strengthened().strengthened(), weak.strengthened());
  EXPECT_EQ(weak.with_dtype(DType::kInt8), ShapeDtype(DType::kInt8, {2}));
  EXPECT_EQ(weak.with_shape(Shape{3, 4}), ShapeDtype(DType::kFloat32, {3, 4}, true));
}

TEST(ShapeDtype, Text) {
  EXPECT_EQ(ShapeDtype(DType::kFloat32, {2, 3}).to_string(), "f32[2,3]");
  EXPECT_EQ(ShapeDtype(DType::kBool, {}).to_string(), "bool[]");
  EXPECT_EQ(ShapeDtype(DType::kInt32, {}, true).to_string(), "i32[]*");
  EXPECT_EQ(shape_to_string(Shape{2, 3}), "[2,3]");
  const ShapeDtype types[] = {{DType::kFloat32, {2, 3}}, {DType::kInt32, {}, true}};
  EXPECT_EQ(types_to_string(types), "f32[2,3], i32[]*");
  EXPECT_EQ(types_to_string({}), "");
}

TEST(ShapeDtype, ScalarsAndEmptyArrays) {
  EXPECT_EQ(ShapeDtype(DType::kComplex128, {}).size(), 1);
  EXPECT_EQ(ShapeDtype(DType::kComplex128, {}).nbytes(), 16u);
  EXPECT_EQ(ShapeDtype(DType::kFloat64, {3, 0}).nbytes(), 0u);
  const int64_t largest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(ShapeDtype(DType::kFloat64, {largest, largest, 0}).size(), 0);
}

TEST(ShapeDtype, ElementsBelowAByteTakeOne) {
  EXPECT_EQ(ShapeDtype(DType::kInt4, {5}).nbytes(), 5u);
}

TEST(ShapeDtype, Tokens) {
  const ShapeDtype token(DType::kToken, {});
  EXPECT_TRUE(token.is_token());
  EXPECT_EQ(token.nbytes(), 0u);
  EXPECT_EQ(error_of(DType::kToken, {1}), "a token has shape [], got [1]");
}

TEST(ShapeDtype, RefusesWhatIsNoShape) {
  EXPECT_EQ(error_of(DType::kFloat32, {2, -1}), "shape [2,-1]: dimension 1 is negative");
  EXPECT_EQ(error_of(DType::kInvalid, {2}), "shape [2]: 0 is not the number of a dtype");
  EXPECT_EQ(error_of(static_cast<DType>(13), {}), "shape []: 13 is not the number of a dtype");
  EXPECT_THAT(error_of(DType::kInt8, Shape(kMaxRank + 1, 1)),
              testing::EndsWith("has rank 33; at most 32 is allowed"));
  EXPECT_TRUE(ShapeDtype(DType::kInt8, Shape(kMaxRank, 1)).is_valid());
}

TEST(ShapeDtype, RefusesSizesThatOverflow) {
  const int64_t half = int64_t{1} << 62;
  EXPECT_EQ(error_of(DType::kFloat32, {half}),
            "shape [4611686018427387904] of float32 has 2^63 bytes or more");
  EXPECT_EQ(ShapeDtype(DType::kInt8, {half}).size(), half);
  EXPECT_THAT(error_of(DType::kInt8, {half, 2}), testing::HasSubstr("2^63 bytes or more"));
}

// Interns types until all permanent slots are used.
void use_up_permanent_types() {
  for (int64_t i = 0; ShapeDtype::num_interned() < ShapeDtype::kNumPermanent; ++i) {
    static_cast<void>(ShapeDtype(DType::kInt8, {i, 1, 0}));
  }
}

TEST(ShapeDtype, BeyondThePermanentOnesTypesDieWithTheirLastHandle) {
  use_up_permanent_types();
  const size_t before = ShapeDtype::num_interned();
  int64_t id = 0;
  {
    const ShapeDtype type(DType::kInt16, {7, 7, 7});
    const ShapeDtype copy = type;
    ShapeDtype moved = copy;
    const ShapeDtype other = std::move(moved);
    EXPECT_EQ(ShapeDtype(DType::kInt16, {7, 7, 7}), other);
    EXPECT_EQ(ShapeDtype::num_interned(), before + 1);
    id = type.id();
  }
  EXPECT_EQ(ShapeDtype::num_interned(), before);
  EXPECT_NE(ShapeDtype(DType::kInt16, {7, 7, 7}).id(), id);
  for (int64_t i = 0; i < 1000; ++i) static_cast<void>(ShapeDtype(DType::kInt32, {i, 5, 0}));
  EXPECT_EQ(ShapeDtype::num_interned(), before);
}

TEST(ShapeDtype, AssignmentKeepsCountOfHandles) {
  use_up_permanent_types();
  const size_t before = ShapeDtype::num_interned();
  ShapeDtype type(DType::kInt16, {8, 8, 8});
  ShapeDtype& same = type;
  type = same;
  EXPECT_EQ(type.to_string(), "i16[8,8,8]");
  type = ShapeDtype(DType::kInt16, {9, 9, 9});
  EXPECT_EQ(ShapeDtype::num_interned(), before + 1);
  type = ShapeDtype();
  EXPECT_EQ(ShapeDtype::num_interned(), before);
}

TEST(ShapeDtype, ThreadsThatMakeAndDropTheSameTypesAgree) {
  use_up_permanent_types();
  const size_t before = ShapeDtype::num_interned();
  std::vector<std::thread> threads;
  std::atomic<int> mistakes = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int64_t i = 0; i < 5000; ++i) {
        const ShapeDtype type(DType::kInt16, {i % 3, 11, 11});
        const ShapeDtype copy = type;
        mistakes += copy != ShapeDtype(DType::kInt16, {i % 3, 11, 11}) || copy.shape()[0] != i % 3;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mistakes, 0);
  EXPECT_EQ(ShapeDtype::num_interned(), before);
}

}  // namespace
}  // namespace farcall
