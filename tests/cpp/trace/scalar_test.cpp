#include <farcall/ops/scalar.h>

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <farcall/core/config.h>
#include <farcall/core/error.h>
#include <farcall/ops/numpy.h>

#include "arrays.h"

namespace farcall {
namespace {

using testing::kInf;

TEST(ScalarOf, IsExactInTheDtypeThatWasAskedFor) {
  EXPECT_EQ(scalar_of(int64_t{-128}, DType::kInt8).item<int8_t>(), -128);
  EXPECT_EQ(scalar_of(-1.9, DType::kInt32).item<int32_t>(), -1);
  EXPECT_EQ(scalar_of(9223372036854775808.0, DType::kUInt64).item<uint64_t>(), uint64_t{1} << 63);
  EXPECT_EQ(scalar_of(0.1, DType::kFloat64).item<double>(), 0.1);
  EXPECT_EQ(scalar_of(0.1, DType::kFloat32).item<float>(), 0.1F);
  EXPECT_TRUE(scalar_of(0.5, DType::kBool).item<bool>());
  EXPECT_FALSE(scalar_of(int64_t{1}, DType::kFloat32).type().weak_type());
}

TEST(ScalarOf, RaisesForWhatTheDtypeDoesNotHave) {
  EXPECT_THROW(scalar_of(int64_t{300}, DType::kInt8), OverflowError);
  EXPECT_THROW(scalar_of(int64_t{-1}, DType::kUInt64), OverflowError);
  EXPECT_THROW(scalar_of(int64_t{8}, DType::kInt4), OverflowError);
  EXPECT_THROW(scalar_of(1e30, DType::kInt64), OverflowError);
  EXPECT_THROW(scalar_of(kInf, DType::kInt32), OverflowError);
  EXPECT_THROW(scalar_of(std::complex<double>(1, 2), DType::kFloat32), TypeError);
  try {
    scalar_of(std::nan(""), DType::kInt32);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.message(), "cannot convert float NaN to int32");
  }
}

TEST(EnableX64, MakesNumbersAndDefaultDtypesWide) {
  const Array ints = Array::of<int32_t>({1, 2});
  const FlagScope scope(Flag::kEnableX64, 1);
  EXPECT_EQ(Array(1).dtype(), DType::kInt64);
  EXPECT_EQ(Array(1.5).dtype(), DType::kFloat64);
  EXPECT_EQ(numpy::multiply(ints, 2).dtype(), DType::kInt32);
  EXPECT_EQ(numpy::multiply(ints, 2.0).dtype(), DType::kFloat64);
  EXPECT_EQ(numpy::sum(ints).dtype(), DType::kInt64);
  EXPECT_EQ(numpy::sin(ints).dtype(), DType::kFloat32);
  EXPECT_EQ(numpy::sin(Array::of<int64_t>({1})).dtype(), DType::kFloat64);
  EXPECT_EQ(numpy::zeros({2}).dtype(), DType::kFloat32);  // the C++ default is always float32
}

TEST(NumpyDtypePromotion, StrictAllowsOneDtypeAndNumbersThatFit) {
  const Array f32 = Array::of<float>({1}), i32 = Array::of<int32_t>({1});
  const FlagScope scope(Flag::kNumpyDtypePromotion, static_cast<unsigned>(DtypePromotion::kStrict));
  EXPECT_EQ(numpy::add(f32, 2).dtype(), DType::kFloat32);
  EXPECT_THROW(numpy::add(i32, 2.0), Error);
  try {
    numpy::add(f32, i32);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "add: operands (f32[1], i32[1]) have different dtypes, and the flag "
              "numpy_dtype_promotion is \"strict\". Convert them with astype first");
  }
}

TEST(NumpyRankPromotion, IsRefusedWhereTheFlagSaysSo) {
  const Array vector = Array::of<float>({1, 2}), matrix = Array::of<float>({1, 2}, {1, 2});
  EXPECT_EQ(numpy::add(vector, matrix).rank(), 2U);
  const FlagScope scope(Flag::kNumpyRankPromotion, static_cast<unsigned>(RankPromotion::kRaise));
  EXPECT_EQ(numpy::add(matrix, 1).rank(), 2U);
  EXPECT_THROW(numpy::add(vector, matrix), Error);
}

}  // namespace
}  // namespace farcall
