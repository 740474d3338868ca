// Handlers built with farcall's own header for each version that it supports, called through the
// runtime.
#include <farcall/ffi/library.h>

#include "testing.h"

namespace farcall {
namespace {

using testing::error_of;
using testing::kF32;
using testing::kS64;

class OwnHeader : public ::testing::TestWithParam<int> {
 protected:
  std::shared_ptr<const Target> target(const std::string& handler) const {
    HandlerBundle bundle = {.execute = library_.handler("own_" + handler)};
    if (handler == "count") bundle.instantiate = library_.handler("own_count_instantiate");
    return make_target("own_" + handler, bundle);
  }

  int64_t value_of(const std::string& handler, Attributes attributes = {},
                   const ExecutionOptions& options = {}) const {
    alignas(64) int64_t value = -1;
    call_target(target(handler), {}, std::vector<RawBuffer>{{kS64, &value}}, std::move(attributes),
                options);
    return value;
  }

  const Library library_ =
      load_library(std::string(FARCALL_OWN_DIR) + "/own_" + std::to_string(GetParam()) + ".so");
};

INSTANTIATE_TEST_SUITE_P(Minor, OwnHeader, ::testing::Range(1, FARCALL_FFI_API_MINOR + 1));

TEST_P(OwnHeader, SpeaksItsVersion) {
  EXPECT_EQ(target("scale")->version(), (ApiVersion{0, GetParam()}));
}

TEST_P(OwnHeader, BuffersAndAttributes) {
  alignas(64) float x[4] = {1, 2, 3, 4}, y[4] = {};
  const auto scale = [&](const char* label) {
    call_target(target("scale"), std::vector<RawBuffer>{{kF32, x}},
                std::vector<RawBuffer>{{kF32, y}}, {{"factor", 2.5f}, {"label", label}});
  };
  scale("fine");
  EXPECT_EQ(y[3], 10);
  EXPECT_EQ(error_of(ErrorCode::kOutOfRange, [&] { scale("fail"); }),
            "OUT_OF_RANGE: scale was told to fail (ffi target \"own_scale\")");
  EXPECT_NE(error_of(ErrorCode::kInternal, [&] { scale("throw"); }).find("scale threw"),
            std::string::npos);
  EXPECT_EQ(value_of("sum_array", {{"values", std::vector<int64_t>{1, 2, 39}}}), 42);
}

TEST_P(OwnHeader, StateScratchFuturesAndContext) {
  const ForeignCall call(
      {.target = target("count"), .results = {kS64}, .attributes = {{"start", int64_t{5}}}});
  Invocation invocation(call);
  alignas(64) int64_t value = 0;
  invocation.set_result(0, &value);
  invocation.execute();
  invocation.execute();
  EXPECT_EQ(value, 6);
  EXPECT_EQ(value_of("scratch", {{"size", int64_t{1000}}}), 0);
  EXPECT_EQ(value_of("future", {{"fail", false}}), 77);
  EXPECT_NE(error_of(ErrorCode::kDataLoss,
                     [&] {
                       value_of("future", {{"fail", true}});
                     })
                .find("lost on the way"),
            std::string::npos);
  EXPECT_EQ(value_of("ids", {}, {.run_id = 4, .device_ordinal = 2}), 4002);
}

}  // namespace
}  // namespace farcall
