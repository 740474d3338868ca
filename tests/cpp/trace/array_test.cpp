// Array: creation and access to elements.
#include <complex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "arrays.h"

namespace farcall {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using testing::values;

TEST(Array, OfValues) {
  const Array x = Array::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(x.type(), ShapeDtype(DType::kFloat32, {2, 3}));
  EXPECT_EQ(x.rank(), 2u);
  EXPECT_EQ(x.size(), 6);
  EXPECT_TRUE(x.is_concrete());
  EXPECT_TRUE(is_aligned(x.data()));
  EXPECT_THAT(values<float>(x), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(values<int64_t>(Array::of<int64_t>({1, 2})), ElementsAre(1, 2));
  EXPECT_EQ(Array::of<float>({}, {0, 3}).size(), 0);
}

TEST(Array, OfTheWrongNumberOfValues) {
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [] {
                       Array::of<float>({1, 2, 3}, {2, 2});
                     }),
            "Array: got 3 values for shape [2,2], which has 4");
}

TEST(Array, Scalars) {
  EXPECT_EQ(Array::scalar(2.0).type(), ShapeDtype(DType::kFloat64, {}));
  EXPECT_EQ(Array::scalar(int8_t{2}).type(), ShapeDtype(DType::kInt8, {}));
  EXPECT_EQ(Array::scalar(true).item<bool>(), true);
  EXPECT_EQ(Array::scalar(std::complex<double>(1, 2)).item<std::complex<double>>(),
            std::complex<double>(1, 2));
}

TEST(Array, NumbersOfTheHostLanguageAreWeak) {
  EXPECT_EQ(Array(2).type(), ShapeDtype(DType::kInt32, {}, true));
  EXPECT_EQ(Array(2.5).type(), ShapeDtype(DType::kFloat32, {}, true));
  EXPECT_EQ(Array(2.5f).type(), ShapeDtype(DType::kFloat32, {}, true));
  EXPECT_EQ(Array(true).type(), ShapeDtype(DType::kBool, {}));
  EXPECT_EQ(Array(int64_t{1} << 40).type(), ShapeDtype(DType::kInt64, {}, true));
  EXPECT_EQ(Array(int64_t{1} << 40).item<int64_t>(), int64_t{1} << 40);
  EXPECT_EQ(Array::weak(std::complex<double>(1, 2)).type(),
            ShapeDtype(DType::kComplex64, {}, true));
}

TEST(Array, AWeakIntegerThatDoesNotFitIsNoNegativeOne) {
  EXPECT_EQ(Array(uint64_t{INT64_MAX}).item<int64_t>(), INT64_MAX);
  EXPECT_EQ(error_of<OverflowError>(ErrorCode::kOutOfRange, [] { Array(uint64_t{1} << 63); }),
            "Array: the number 9223372036854775808 does not fit into int64; for uint64 use "
            "Array::scalar(number)");
  EXPECT_EQ(Array::scalar(uint64_t{1} << 63).item<uint64_t>(), uint64_t{1} << 63);
}

TEST(Array, AWeakNumberKeepsItsPrecision) {
  const Array x = Array::of<double>({0.0});
  EXPECT_EQ((x + 0.1).item<double>(), 0.1);
  EXPECT_EQ((x + (1 + (int64_t{1} << 40))).item<double>(), 1.0 + 0x1p40);
}

TEST(Array, ReadingAsAnotherType) {
  const Array x = Array::of<float>({1, 2});
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { x.values<double>(); }),
            "Array: requested values of dtype float64, but the array is f32[2]");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { x.item<float>(); }),
            "Array: item() needs an array of one element, got f32[2]");
  EXPECT_EQ(Array::of<float>({3}, {1, 1}).item<float>(), 3);
}

TEST(Array, OneThatRefersToNone) {
  const std::string message = "this Array is empty: it was default-constructed or moved from";
  EXPECT_TRUE(Array().is_null());
  EXPECT_EQ(error_of(ErrorCode::kFailedPrecondition, [] { Array().type(); }), message);
  Array x = Array::scalar(1.f);
  const Array y = std::move(x);
  EXPECT_EQ(error_of(ErrorCode::kFailedPrecondition, [&] { lax::neg(x); }), message);
  EXPECT_EQ(lax::neg(y).item<float>(), -1);
}

TEST(Array, CopiesShare) {
  const Array x = Array::of<float>({1});
  const Array y = x;
  EXPECT_EQ(x.data(), y.data());
  Array z;
  z = y;
  EXPECT_EQ(z.data(), y.data());
}

TEST(Array, Text) {
  EXPECT_EQ(Array::of<float>({1, 2, 3, 4}, {2, 2}).to_string(), "[[1.0, 2.0], [3.0, 4.0]]");
  EXPECT_EQ(Array::scalar(true).to_string(), "True");
  EXPECT_EQ(Array::of<float>({}, {0}).to_string(), "[]");
  EXPECT_EQ(Array::of<float>({}, {2, 0}).to_string(), "[[], []]");
  EXPECT_EQ(lax::create_token().to_string(), "token");
  EXPECT_EQ(numpy::arange(0, 2000).to_string(), "[0, 1, 2, ..., 1997, 1998, 1999]");
}

}  // namespace
}  // namespace farcall
