// Options of one execution reach its handlers and do not leak into the next execution.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calls.h"

namespace farcall::native {
namespace {

using testing::Call;
using testing::f32;

struct Seen {
  int64_t run_id;
  int32_t ordinal;
  void* user_data;
};
std::vector<Seen> seen;
FARCALL_FFI_TypeId user_type = {};

FARCALL_FFI_Error* look(Call call) {
  const FARCALL_FFI_Api* api = call.frame->api;
  FARCALL_FFI_RunId_Get_Args run = {sizeof(run), nullptr, call.frame->ctx, 0};
  FARCALL_FFI_DeviceOrdinal_Get_Args device = {sizeof(device), nullptr, call.frame->ctx, 0};
  FARCALL_FFI_ExecutionContext_Get_Args user = {sizeof(user), nullptr, call.frame->ctx, &user_type,
                                                nullptr};
  if (FARCALL_FFI_Error* error = api->RunId_Get(&run)) return error;
  if (FARCALL_FFI_Error* error = api->DeviceOrdinal_Get(&device)) return error;
  if (FARCALL_FFI_Error* error = api->ExecutionContext_Get(&user)) {
    FARCALL_FFI_Error_Destroy_Args destroy = {sizeof(destroy), nullptr, error};
    api->Error_Destroy(&destroy);
  }
  seen.push_back({run.run_id, device.device_ordinal, user.data});
  return nullptr;
}

// Two calls, to check that they belong to the same execution.
std::shared_ptr<const Executable> looking(bool with_stages) {
  static const std::string plain = testing::add_target(look);
  static const char* const staged = [] {
    const auto skip = [](FARCALL_FFI_CallFrame* frame) -> FARCALL_FFI_Error* {
      if (frame->extension_start != nullptr) {
        auto* metadata =
            reinterpret_cast<FARCALL_FFI_Metadata_Extension*>(frame->extension_start)->metadata;
        metadata->api_version.major_version = 0;
        metadata->api_version.minor_version = FARCALL_FFI_API_MINOR;
        return nullptr;
      }
      return frame->stage == FARCALL_FFI_ExecutionStage_EXECUTE ? look(Call{frame}) : nullptr;
    };
    register_ffi_target("options_staged", HandlerBundle{.prepare = skip, .execute = skip});
    return "options_staged";
  }();
  register_ffi_type("options_test.user", &user_type);
  const ShapeDtype types[] = {f32({})};
  return testing::compile(record(
      [&](std::span<const Array> x) {
        for (int i = 0; i < 2; ++i) {
          FfiCall(with_stages ? staged : plain, {}, {.has_side_effect = true})({x[0]});
        }
        return std::vector<Array>{};
      },
      types));
}

class Options : public ::testing::TestWithParam<bool> {
 protected:
  Options() : executable_(looking(GetParam())) {}
  std::vector<Seen> execute(const ExecutionOptions& options = {}) {
    seen.clear();
    const Array x = Array::scalar(1.f);
    run(*executable_, {&x, 1}, options);
    return std::exchange(seen, {});
  }
  std::shared_ptr<const Executable> executable_;
};

TEST_P(Options, EachExecutionHasARunIdOfItsOwn) {
  std::set<int64_t> ids;
  for (int i = 0; i < 10; ++i) {
    const auto calls = execute();
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_EQ(calls[0].run_id, calls[1].run_id);
    EXPECT_NE(calls[0].run_id, 0);
    EXPECT_TRUE(ids.insert(calls[0].run_id).second);
    EXPECT_EQ(calls[0].ordinal, 0);
    EXPECT_EQ(calls[0].user_data, nullptr);
  }
}

TEST_P(Options, AreSeenInOneExecution) {
  int object = 0;
  ExecutionOptions options;
  options.run_id = 77;
  options.device_ordinal = 3;
  options.user_data = {{user_type.type_id, &object}};
  for (int round = 0; round < 3; ++round) {
    for (const Seen& call : execute(options)) {
      EXPECT_EQ(call.run_id, 77);
      EXPECT_EQ(call.ordinal, 3);
      EXPECT_EQ(call.user_data, &object);
    }
    for (const Seen& call : execute()) {
      EXPECT_NE(call.run_id, 77);
      EXPECT_EQ(call.ordinal, 0);
      EXPECT_EQ(call.user_data, nullptr);
    }
  }
}

TEST_P(Options, WithoutARunIdAllCallsStillShareOne) {
  ExecutionOptions options;
  options.device_ordinal = 1;
  const auto first = execute(options), second = execute(options);
  EXPECT_EQ(first[0].run_id, first[1].run_id);
  EXPECT_NE(first[0].run_id, 0);
  EXPECT_NE(first[0].run_id, second[0].run_id);
}

INSTANTIATE_TEST_SUITE_P(Engine, Options, ::testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "WithStages" : "WithoutStages");
});

}  // namespace
}  // namespace farcall::native
