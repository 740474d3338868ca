// Error messages name the traced function, its argument, and the user's line.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ffi/registry.h>
#include <farcall/handler/define.h>
#include <farcall/ops/control_flow.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/ops/loops.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/derivatives.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/vmap.h>

#include "arrays.h"

namespace {

farcall::ffi::Error fail(farcall::ffi::RemainingArgs, farcall::ffi::RemainingRets) {
  return farcall::ffi::Error::OutOfRange("told to");
}

}  // namespace

FARCALL_DEFINE_HANDLER(origin_test_fail, fail);

namespace farcall {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;
using testing::kVector;
using ::testing::Not;

const Array kX = Array::of<float>({1, 2, 3});

std::string line(int offset, CallSite where = CallSite::current()) {
  return std::string(where.file) + ":" + std::to_string(where.line + offset);
}

std::string expected_line;

Array failing(const Array& x) {
  expected_line = line(1);
  return ffi_call("origin_test_fail", kVector, {x});
}

class HandlerErrors : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_ffi_target("origin_test_fail", origin_test_fail); }

  template <class F>
  static void expect_line(F&& call) {
    for (int i = 0; i < 2; ++i) {
      const std::string text = error_of<FfiError>(ErrorCode::kOutOfRange, call);
      EXPECT_THAT(text, AllOf(HasSubstr("OUT_OF_RANGE: told to (ffi target \"origin_test_fail\")"),
                              HasSubstr("\n  at " + expected_line)));
      EXPECT_EQ(text.find("\n  at "), text.rfind("\n  at "));
    }
  }
};

TEST_F(HandlerErrors, NameTheLineOfAnEagerCall) {
  expect_line([] { failing(kX); });
}

TEST_F(HandlerErrors, NameTheLineInsideAJittedFunctionOnEveryRun) {
  const auto f = jit([](const Array& x) { return failing(x * 2) + 1; });
  expect_line([&] { f(kX); });
  const auto nested = jit([&](const Array& x) { return f(x) - 1; });
  expect_line([&] { nested(kX); });
}

TEST_F(HandlerErrors, NameTheLineInsideALoop) {
  const auto f = jit([](const Array& x) {
    return lax::fori_loop(
        0, 3, [](const Array&, const Array& c) { return failing(c); }, x);
  });
  expect_line([&] { f(kX); });
}

TEST(TracedValues, NameTheFunctionAndTheArgument) {
  const auto text = [](const auto& f) {
    return error_of<ConcretizationError>(ErrorCode::kFailedPrecondition,
                                         [&] { f(kX, Array::scalar(1.f)); });
  };
  EXPECT_THAT(text(jit([](const Array&, const Array& n) { return Array(n.item<float>()); })),
              AllOf(HasSubstr("not known while jit is traced; it is argument 1"),
                    HasSubstr("cond or where in place of if"),
                    HasSubstr("take in place of an index"), HasSubstr("make argument 1 static")));
  EXPECT_THAT(
      text(jit([](const Array& x, const Array&) { return Array((x + 1).data() == nullptr); })),
      AllOf(HasSubstr("made by add"), HasSubstr("from argument 0"), Not(HasSubstr("static"))));
}

TEST(TracedValues, OfAMappedFunctionNameIt) {
  const auto f = vmap([](const Array& x) { return Array(x.item<float>()); });
  EXPECT_THAT(error_of<ConcretizationError>(ErrorCode::kFailedPrecondition, [&] { f(kX); }),
              AllOf(HasSubstr("while vmap is traced; it is argument 0"),
                    HasSubstr("call this part outside vmap")));
}

TEST(Leaks, NameTheFunction) {
  Array kept;
  jit([&](const Array& x) { return kept = x + 1; })(kX);
  EXPECT_THAT(error_of<LeakedTracerError>(ErrorCode::kFailedPrecondition, [&] { kept + 1; }),
              HasSubstr("it is of jit"));
}

}  // namespace
}  // namespace farcall
