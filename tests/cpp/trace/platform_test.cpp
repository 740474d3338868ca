// platform_dependent: one function per platform.
#include <farcall/ops/platform.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/ffi_call.h>
#include <farcall/program/engine.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/record.h>

#include "arrays.h"

namespace farcall {
namespace {

using testing::error_of;
using testing::kScalar;
using testing::values;

// Adds a number to its operand, and records that this branch was called.
FlatFunction adding(float number, std::vector<float>* called = nullptr) {
  return [=](std::span<const Array> x) {
    if (called) called->push_back(number);
    return std::vector{lax::add(x[0], Array::scalar(number))};
  };
}

float run_eagerly(std::span<const lax::PlatformBranch> branches, const FlatFunction& otherwise) {
  const Array x = Array::scalar(1.0f);
  return lax::platform_dependent({&x, 1}, branches, otherwise)[0].item<float>();
}

std::shared_ptr<const Executable> compiled(std::span<const lax::PlatformBranch> branches,
                                           const FlatFunction& otherwise) {
  return default_engine().compile(
      record(
          [&](std::span<const Array> x) { return lax::platform_dependent(x, branches, otherwise); },
          {&kScalar, 1}),
      {});
}

float run_compiled(std::span<const lax::PlatformBranch> branches, const FlatFunction& otherwise) {
  return run(*compiled(branches, otherwise), std::vector{Array::scalar(1.0f)})[0].item<float>();
}

TEST(PlatformDependent, TakesTheBranchOfThePlatform) {
  const std::vector<lax::PlatformBranch> both = {{"cuda", adding(10)}, {"CPU", adding(20)}};
  const std::vector<lax::PlatformBranch> others = {{"gpu", adding(10)}, {"tpu", adding(20)}};
  for (const auto& run_it : {run_eagerly, run_compiled}) {
    EXPECT_EQ(run_it(both, {}), 21);
    EXPECT_EQ(run_it(both, adding(30)), 21);
    EXPECT_EQ(run_it(others, adding(30)), 31);
    EXPECT_EQ(run_it({}, adding(30)), 31);
    EXPECT_THAT(error_of(ErrorCode::kUnimplemented, [&] { run_it(others, {}); }),
                ::testing::StartsWith(
                    "platform_dependent: no function for platform cpu, only for cuda, rocm, tpu"));
  }
}

TEST(PlatformDependent, RecordsAllBranchesAndCompilesOne) {
  std::vector<float> called;
  const lax::PlatformBranch branches[] = {{"cuda", adding(10, &called)},
                                          {"cpu", adding(20, &called)}};
  EXPECT_EQ(run_eagerly(branches, {}), 21);
  EXPECT_EQ(called, (std::vector<float>{20}));
  called.clear();
  EXPECT_EQ(run_compiled(branches, {}), 21);
  EXPECT_EQ(called, (std::vector<float>{10, 20}));
  // Targets of other platforms need not be registered.
  const lax::PlatformBranch foreign[] = {
      {"cuda", [](std::span<const Array> x) { return FfiCall("nowhere", {kScalar})(x); }}};
  EXPECT_EQ(run_eagerly(foreign, adding(30)), 31);
  EXPECT_EQ(run_compiled(foreign, adding(30)), 31);
}

TEST(PlatformDependent, Mistakes) {
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { run_eagerly({}, {}); }),
            "platform_dependent: give a function for a platform, or a default");
  const lax::PlatformBranch unknown[] = {{"abacus", adding(1)}};
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [&] { run_eagerly(unknown, {}); }).substr(0, 55),
            "platform_dependent: registry: unknown platform \"abacus\"");
  const lax::PlatformBranch branches[] = {{"cpu", adding(1)}};
  const FlatFunction pair = [](std::span<const Array> x) { return std::vector{x[0], x[0]}; };
  EXPECT_THROW(compiled(branches, pair), TypeError);
}

}  // namespace
}  // namespace farcall
