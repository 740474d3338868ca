#include <farcall/core/precision.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/error.h>

namespace farcall {
namespace {

constexpr Precision kAll[] = {Precision::kDefault, Precision::kHigh, Precision::kHighest};

TEST(PrecisionScope, HoldsEveryPairUntilItEnds) {
  EXPECT_FALSE(default_precision());
  const uint64_t outside = config_key();
  for (const Precision lhs : kAll) {
    for (const Precision rhs : kAll) {
      const OperandPrecisions pair(lhs, rhs);
      const PrecisionScope scope(pair);
      EXPECT_EQ(default_precision(), pair);
      EXPECT_NE(config_key(), outside);
      const auto& names = all_flags()[static_cast<size_t>(Flag::kMatmulPrecision)].values;
      std::string wanted(precision_name(lhs));
      if (lhs != rhs) wanted += ", " + std::string(precision_name(rhs));
      EXPECT_EQ(names[precision_flag(pair)], wanted);
    }
  }
  EXPECT_FALSE(default_precision());
  EXPECT_EQ(config_key(), outside);
}

TEST(PrecisionScope, WithoutAPrecisionLeavesThatOfTheEnclosingScope) {
  const PrecisionScope outer(Precision::kHigh);
  {
    const PrecisionScope inner(std::nullopt);
    EXPECT_EQ(default_precision(), OperandPrecisions(Precision::kHigh, Precision::kHigh));
    const PrecisionScope innermost(Precision::kDefault);
    EXPECT_EQ(default_precision(), OperandPrecisions(Precision::kDefault, Precision::kDefault));
  }
  EXPECT_EQ(default_precision(), OperandPrecisions(Precision::kHigh, Precision::kHigh));
}

TEST(Precision, IsReadByItsName) {
  for (const Precision each : kAll) EXPECT_EQ(precision_named(precision_name(each)), each);
  try {
    precision_named("huge");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(),
                ::testing::HasSubstr("precision must be default, high or highest, got \"huge\""));
  }
}

}  // namespace
}  // namespace farcall
