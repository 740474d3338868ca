#include <farcall/core/config.h>

#include <thread>

#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/core/message.h>

namespace farcall {
namespace {

constexpr unsigned kStrict = static_cast<unsigned>(DtypePromotion::kStrict);
constexpr unsigned kRaise = static_cast<unsigned>(RankPromotion::kRaise);

TEST(Config, FlagsBeginWithTheirDefaults) {
  for (size_t i = 0; i < kNumFlags; ++i) {
    const FlagInfo& info = all_flags()[i];
    EXPECT_EQ(static_cast<size_t>(info.flag), i) << info.name;
    EXPECT_EQ(flag_value(info.flag), 0U) << info.name;
    EXPECT_EQ(thread_override(info.flag), kNoOverride) << info.name;
  }
}

TEST(Config, ScopesHoldOnTheirThreadAndNest) {
  const FlagScope outer(Flag::kNumpyRankPromotion, kRaise);
  {
    const FlagScope inner(Flag::kEnableX64, 1);
    EXPECT_TRUE(is_x64());
    EXPECT_EQ(flag_value(Flag::kNumpyRankPromotion), kRaise);
    bool there = true;
    std::thread([&] { there = is_x64(); }).join();
    EXPECT_FALSE(there);
    const FlagScope innermost(Flag::kEnableX64, 0);
    EXPECT_FALSE(is_x64());
  }
  EXPECT_FALSE(is_x64());
  EXPECT_EQ(flag_value(Flag::kNumpyRankPromotion), kRaise);
}

TEST(Config, WhatIsSetHoldsForAllThreadsWithoutAScope) {
  const FlagScope scope(Flag::kDebugNans, 0);
  set_flag(Flag::kDebugNans, 1);
  EXPECT_FALSE(is_on(Flag::kDebugNans));
  bool there = false;
  std::thread([&] { there = is_on(Flag::kDebugNans); }).join();
  EXPECT_TRUE(there);
  set_flag(Flag::kDebugNans, 0);
}

TEST(Config, DefaultDtypesFollowEnableX64) {
  EXPECT_EQ(default_int(), DType::kInt32);
  EXPECT_EQ(default_float(), DType::kFloat32);
  const FlagScope scope(Flag::kEnableX64, 1);
  EXPECT_EQ(default_int(), DType::kInt64);
  EXPECT_EQ(default_uint(), DType::kUInt64);
  EXPECT_EQ(default_float(), DType::kFloat64);
  EXPECT_EQ(default_complex(), DType::kComplex128);
}

TEST(Config, TheKeyOfCachesChangesWithFlagsThatProgramsDependOn) {
  const uint64_t key = config_key();
  {
    const FlagScope scope(Flag::kNumpyDtypePromotion, kStrict);
    EXPECT_NE(config_key(), key);
  }
  const FlagScope scope(Flag::kLogCompiles, 1);
  EXPECT_EQ(config_key(), key);
}

TEST(Config, AValueThatAFlagDoesNotHaveIsRefused) {
  try {
    set_flag(Flag::kNumpyRankPromotion, 3);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.message(),
              "config: flag numpy_rank_promotion takes a value from 0 to 2, got 3");
  }
  EXPECT_THROW(FlagScope(Flag::kEnableX64, 2), Error);
  EXPECT_EQ(thread_override(Flag::kEnableX64), kNoOverride);
}

TEST(Message, GoesToTheSinkThatIsSet) {
  static std::string seen;
  send_message(MessageKind::kWarning, "dropped");
  set_message_sink([](MessageKind kind, std::string_view text) {
    seen = (kind == MessageKind::kLog ? "log: " : "warning: ") + std::string(text);
  });
  send_message(MessageKind::kLog, "compiled");
  set_message_sink(nullptr);
  send_message(MessageKind::kWarning, "dropped");
  EXPECT_EQ(seen, "log: compiled");
}

}  // namespace
}  // namespace farcall
