// Isolated targets from C++: handlers of a library that run in farcall-run.
#include <farcall/ffi/isolation.h>

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ffi/foreign_call.h>
#include <farcall/ffi/library.h>

#include "ffi/isolation_protocol.h"
#include "testing.h"

namespace farcall {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

TEST(IsolationProtocol, AttributesComeBackAsTheyWere) {
  const Attributes attributes = {
      {"a", 1.5F},
      {"b", std::string("x\0y", 3)},
      {"c", std::vector<int64_t>{1, -2, 3}},
      {"d", Attributes{{"deep", Attributes{{"flag", true}}}, {"none", Attributes()}}},
      {"e", std::vector<double>{}}};
  runtime::Writer writer;
  writer.attributes(attributes);
  writer.type(ShapeDtype(DType::kBFloat16, {2, 0, 7}));
  runtime::Reader reader(writer.bytes());
  EXPECT_EQ(reader.attributes(), attributes);
  EXPECT_EQ(reader.type(), ShapeDtype(DType::kBFloat16, {2, 0, 7}));
  EXPECT_THROW(reader.text(), Error);
}

#ifdef FARCALL_RUN_PROGRAM
FARCALL_FFI_Error* in_the_program(FARCALL_FFI_CallFrame* frame) {
  testing::answers_metadata(frame);
  return nullptr;
}

class Isolation : public ::testing::Test {
 protected:
  Isolation() { setenv("FARCALL_RUN", FARCALL_RUN_PROGRAM, 1); }

  const Library library_ = load_library(FARCALL_OWN_DIR "/own_5.so");
};

TEST_F(Isolation, RunsAHandlerElsewhere) {
  register_isolated_ffi_target("far_scale", library_.handler("own_scale"));
  float x[] = {1, 2, 3}, y[3] = {};
  const ShapeDtype type(DType::kFloat32, {3});
  for (int i = 1; i < 4; ++i) {
    call_target("far_scale", std::array{RawBuffer{type, x}}, std::array{RawBuffer{type, y}},
                {{"factor", static_cast<float>(i)}, {"label", "twice"}});
    EXPECT_THAT(y, ::testing::ElementsAre(i, 2 * i, 3 * i));
  }
  // The attribute types are known without a call.
  EXPECT_TRUE(find_target("far_scale")->attribute_types().contains("factor"));
}

TEST_F(Isolation, RegistersTheSameAgainAndNothingElse) {
  FARCALL_FFI_Handler* const handler = library_.handler("own_sum_array");
  register_isolated_ffi_target("far_sum", handler);
  register_isolated_ffi_target("far_sum", handler);
  error_of(ErrorCode::kAlreadyExists, [&] { register_ffi_target("far_sum", handler); });
  error_of(ErrorCode::kAlreadyExists,
           [&] { register_isolated_ffi_target("far_sum", handler, {.timeout_seconds = 5}); });
  EXPECT_THAT(error_of(ErrorCode::kInvalidArgument,
                       [&] { register_isolated_ffi_target("near", in_the_program); }),
              HasSubstr("\"near\" cannot be isolated: its handler lies in the program itself"));
}

TEST_F(Isolation, RefusesPointersOfThisProcess) {
  register_isolated_ffi_target("far_count", library_.handler("own_scratch"));
  ExecutionOptions options;
  int data = 0;
  options.user_data = {{1, &data}};
  EXPECT_THAT(error_of(ErrorCode::kFailedPrecondition,
                       [&] {
                         call_target("far_count", {}, {}, {{"size", int64_t{8}}}, options);
                       }),
              HasSubstr("cannot use the user data"));
}
#endif

}  // namespace
}  // namespace farcall
