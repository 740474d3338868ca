// Stages of handlers: when and how often each runs, and the lifetime of their states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calls.h"

namespace farcall::native {
namespace {

using testing::Call;
using testing::f32;
using ::testing::HasSubstr;

// The events in order: "+i1": instantiate of call 1 created a state; "-p1": the state of prepare of
// call 1 was destroyed; "x1": call 1 was executed.
std::string events;
std::string failing;  // "p2": prepare of call 2 fails

std::string take_events() { return std::exchange(events, {}); }

struct Object {
  std::string name;
};

FARCALL_FFI_TypeId type_id = {};

void destroy(void* object) {
  const std::unique_ptr<Object> owned(static_cast<Object*>(object));
  events += "-" + owned->name + " ";
}

// The single attribute identifies the call.
std::string number(FARCALL_FFI_CallFrame* frame) {
  const auto* scalar = static_cast<const FARCALL_FFI_Scalar*>(frame->attrs.attrs[0]);
  return std::to_string(*static_cast<const int32_t*>(scalar->value));
}

template <FARCALL_FFI_ExecutionStage kStage, char kName>
FARCALL_FFI_Error* stage(FARCALL_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr) {
    auto* metadata =
        reinterpret_cast<FARCALL_FFI_Metadata_Extension*>(frame->extension_start)->metadata;
    metadata->api_version.major_version = 0;
    metadata->api_version.minor_version = FARCALL_FFI_API_MINOR;
    return nullptr;
  }
  const std::string name = kName + number(frame);
  if (failing == name) return Call{frame}.fail(FARCALL_FFI_Error_Code_ABORTED, "told to fail");
  if (kStage == FARCALL_FFI_ExecutionStage_EXECUTE) {
    events += name + " ";
    return nullptr;
  }
  events += "+" + name + " ";
  FARCALL_FFI_State_Set_Args args = {sizeof(args), nullptr,  frame->ctx,
                                     kStage,       &type_id, new Object{name}};
  return frame->api->State_Set(&args);
}

class Stages : public ::testing::Test {
 protected:
  void SetUp() override {
    static const FARCALL_FFI_TypeInfo info = {sizeof(info), nullptr, destroy};
    register_ffi_type("stage_test.object", &type_id, &info);
    register_ffi_target("all_stages",
                        HandlerBundle{
                            .instantiate = stage<FARCALL_FFI_ExecutionStage_INSTANTIATE, 'i'>,
                            .prepare = stage<FARCALL_FFI_ExecutionStage_PREPARE, 'p'>,
                            .initialize = stage<FARCALL_FFI_ExecutionStage_INITIALIZE, 'n'>,
                            .execute = stage<FARCALL_FFI_ExecutionStage_EXECUTE, 'x'>,
                        });
    register_ffi_target("two_stages",
                        HandlerBundle{
                            .instantiate = stage<FARCALL_FFI_ExecutionStage_INSTANTIATE, 'i'>,
                            .execute = stage<FARCALL_FFI_ExecutionStage_EXECUTE, 'x'>,
                        });
    events.clear();
    failing.clear();
  }

  static std::shared_ptr<const Executable> two_calls(const std::string& target = "all_stages") {
    const ShapeDtype types[] = {f32({})};
    return testing::compile(record(
        [&](std::span<const Array> x) {
          const FfiCall call(target, {}, {.has_side_effect = true});
          call({x[0]}, {{"number", 1}});
          call({x[0]}, {{"number", 2}});
          return std::vector<Array>{};
        },
        types));
  }
  static void execute(const Executable& executable) {
    const Array x = Array::scalar(1.f);
    run(executable, {&x, 1});
  }
};

TEST_F(Stages, InTheOrderOfXla) {
  auto executable = two_calls();
  EXPECT_EQ(take_events(), "+i1 +i2 ");  // once, during compilation
  for (int execution = 0; execution < 3; ++execution) {
    execute(*executable);
    EXPECT_EQ(take_events(), "+p1 +p2 +n1 +n2 x1 x2 -n1 -p1 -n2 -p2 ");
  }
  executable.reset();
  EXPECT_EQ(take_events(), "-i1 -i2 ");
}

TEST_F(Stages, ATargetWithoutStagesOfExecution) {
  auto executable = two_calls("two_stages");
  execute(*executable);
  execute(*executable);
  executable.reset();
  EXPECT_EQ(take_events(), "+i1 +i2 x1 x2 x1 x2 -i1 -i2 ");
}

TEST_F(Stages, AnErrorOfInstantiateIsOneOfCompiling) {
  failing = "i2";
  EXPECT_THAT(testing::error_of(ErrorCode::kAborted, [] { two_calls(); }),
              HasSubstr("told to fail"));
  EXPECT_EQ(take_events(), "+i1 -i1 ");
}

TEST(Executions, AnErrorLeavesNoResults) {
  const std::string fails = testing::add_target([](testing::Call call) -> FARCALL_FFI_Error* {
    return call.fail(FARCALL_FFI_Error_Code_ABORTED, "on purpose");
  });
  const ShapeDtype types[] = {f32({2})};
  const auto executable = testing::compile(record(
      [&](std::span<const Array> x) {
        return std::vector<Array>{lax::neg(x[0]), testing::call(fails, {x[0]}, f32({2}))};
      },
      types));
  const Array x = Array::of<float>({1, 2});
  const Storage* inputs[] = {&x.storage()};
  Storage outputs[2];
  testing::error_of(ErrorCode::kAborted, [&] { executable->execute(inputs, outputs, {}); });
  for (const Storage& output : outputs) EXPECT_FALSE(output);
}

TEST_F(Stages, AnErrorLeavesTheExecutableUsableAndNoStateBehind) {
  const auto executable = two_calls();
  take_events();
  const auto fails_at = [&](const std::string& where) {
    failing = where;
    EXPECT_THAT(testing::error_of(ErrorCode::kAborted, [&] { execute(*executable); }),
                HasSubstr("told to fail"));
    failing.clear();
    const std::string seen = take_events();
    execute(*executable);
    EXPECT_EQ(take_events(), "+p1 +p2 +n1 +n2 x1 x2 -n1 -p1 -n2 -p2 ");
    return seen;
  };
  EXPECT_EQ(fails_at("p1"), "");
  EXPECT_EQ(fails_at("p2"), "+p1 -p1 ");
  EXPECT_EQ(fails_at("n1"), "+p1 +p2 -p1 -p2 ");
  EXPECT_EQ(fails_at("n2"), "+p1 +p2 +n1 -n1 -p1 -p2 ");
  EXPECT_EQ(fails_at("x1"), "+p1 +p2 +n1 +n2 -n1 -p1 -n2 -p2 ");
  EXPECT_EQ(fails_at("x2"), "+p1 +p2 +n1 +n2 x1 -n1 -p1 -n2 -p2 ");
}

}  // namespace
}  // namespace farcall::native
