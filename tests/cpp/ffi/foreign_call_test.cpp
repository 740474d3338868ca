#include <farcall/ffi/foreign_call.h>

#include <stdexcept>
#include <vector>

#include "testing.h"

namespace farcall {
namespace {

using testing::answers_metadata;
using testing::argument;
using testing::error_of;
using testing::fail;
using testing::result;

const ShapeDtype kF32x3(DType::kFloat32, {3});

std::vector<std::string> stages_seen;

FARCALL_FFI_Error* twice(FARCALL_FFI_CallFrame* frame) {
  if (answers_metadata(frame)) return nullptr;
  const auto* in = static_cast<float*>(argument(frame, 0)->data);
  auto* out = static_cast<float*>(result(frame, 0)->data);
  for (int i = 0; i < 3; ++i) out[i] = 2 * in[i];
  return nullptr;
}

TEST(ForeignCall, RunsWithNewPointersEachTime) {
  const ForeignCall call({.target = make_target("twice", HandlerBundle{.execute = twice}),
                          .arguments = {kF32x3},
                          .results = {kF32x3}});
  Invocation invocation(call);
  alignas(64) float x[3] = {1, 2, 3}, y[3], z[3];
  invocation.set_argument(0, x);
  invocation.set_result(0, y);
  invocation.execute();
  EXPECT_EQ(y[2], 6);
  invocation.set_argument(0, y);
  invocation.set_result(0, z);
  invocation.execute();
  EXPECT_EQ(z[2], 12);

  Invocation moved(std::move(invocation));
  moved.set_argument(0, z);
  moved.set_result(0, x);
  moved.execute();
  EXPECT_EQ(x[2], 24);
}

TEST(ForeignCall, TheFrameTellsTypesAndShapes) {
  std::vector<int64_t> dims(16, 1);
  const ShapeDtype high(DType::kInt4, dims), empty(DType::kFloat8E5M2, {2, 0}),
      token(DType::kToken, {});
  const auto target = make_target("frame", [&](FARCALL_FFI_CallFrame* frame) {
    EXPECT_EQ(frame->struct_size, FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_CallFrame, attrs));
    EXPECT_EQ(frame->args.size, 3);
    EXPECT_EQ(frame->rets.size, 1);
    EXPECT_EQ(frame->args.types[2], FARCALL_FFI_ArgType_BUFFER);
    EXPECT_EQ(argument(frame, 0)->rank, 16);
    EXPECT_EQ(argument(frame, 0)->dtype, FARCALL_FFI_DataType_S4);
    EXPECT_EQ(argument(frame, 1)->dims[1], 0);
    EXPECT_EQ(argument(frame, 1)->data, nullptr);
    EXPECT_EQ(argument(frame, 2)->dtype, FARCALL_FFI_DataType_TOKEN);
    EXPECT_EQ(result(frame, 0)->rank, 0);
    return static_cast<FARCALL_FFI_Error*>(nullptr);
  });
  char byte = 0;
  call_target(target, std::vector<RawBuffer>{{high, &byte}, {empty, nullptr}, {token, nullptr}},
              std::vector<RawBuffer>{{token, nullptr}});
}

TEST(ForeignCall, ManyOperands) {
  constexpr int kMany = 300;
  const auto target = make_target("many", [&](FARCALL_FFI_CallFrame* frame) {
    for (int i = 0; i < kMany; ++i) {
      EXPECT_EQ(frame->args.types[i], FARCALL_FFI_ArgType_BUFFER);
      EXPECT_EQ(*static_cast<int*>(argument(frame, i)->data), i);
    }
    return static_cast<FARCALL_FFI_Error*>(nullptr);
  });
  std::vector<int> values(kMany);
  std::vector<RawBuffer> arguments;
  for (int i = 0; i < kMany; ++i) {
    values[i] = i;
    arguments.push_back({ShapeDtype(DType::kInt32, {}), &values[i]});
  }
  call_target(target, arguments, {});
}

template <FARCALL_FFI_ExecutionStage kStage>
FARCALL_FFI_Error* note_stage(FARCALL_FFI_CallFrame* frame) {
  if (answers_metadata(frame)) return nullptr;
  EXPECT_EQ(frame->stage, kStage);
  stages_seen.push_back(std::string(stage_name(static_cast<Stage>(kStage))) + " " +
                        std::to_string(frame->args.size) + " " + std::to_string(frame->attrs.size));
  return nullptr;
}

TEST(ForeignCall, InstantiateSeesAttributesAlone) {
  const HandlerBundle bundle = {note_stage<FARCALL_FFI_ExecutionStage_INSTANTIATE>,
                                note_stage<FARCALL_FFI_ExecutionStage_PREPARE>,
                                note_stage<FARCALL_FFI_ExecutionStage_INITIALIZE>,
                                note_stage<FARCALL_FFI_ExecutionStage_EXECUTE>, nullptr};
  stages_seen.clear();
  call_target(make_target("stages", bundle), std::vector<RawBuffer>{{kF32x3, nullptr}}, {},
              {{"a", 1}});
  EXPECT_EQ(stages_seen, (std::vector<std::string>{"instantiate 0 1", "prepare 1 1",
                                                   "initialize 1 1", "execute 1 1"}));
}

// Handlers of interface 0.0 reject runtimes of another version.
TEST(ForeignCall, EachStageGetsTheTableOfItsVersion) {
  static std::string versions;
  const auto note = [](FARCALL_FFI_CallFrame* frame) {
    const auto& api = *frame->api;
    versions += std::to_string(api.api_version.minor_version) +
                (api.State_Set == ffi_api()->State_Set ? "new " : "old ");
  };
  static const auto note_static = note;
  const HandlerBundle bundle = {.prepare =
                                    +[](FARCALL_FFI_CallFrame* frame) {
                                      if (!answers_metadata(frame, 0, 1)) note_static(frame);
                                      return static_cast<FARCALL_FFI_Error*>(nullptr);
                                    },
                                .execute =
                                    +[](FARCALL_FFI_CallFrame* frame) {
                                      if (frame->extension_start != nullptr) {
                                        return fail(frame, FARCALL_FFI_Error_Code_INVALID_ARGUMENT,
                                                    "what is this?");
                                      }
                                      note_static(frame);
                                      return static_cast<FARCALL_FFI_Error*>(nullptr);
                                    }};
  call_target(make_target("versions", bundle), {}, {});
  EXPECT_EQ(versions, "5old 0old ");
}

TEST(ForeignCall, ErrorsLeaveEverythingUsable) {
  bool should_fail = true;
  const auto target = make_target("sometimes", [&](FARCALL_FFI_CallFrame* frame) {
    return should_fail ? fail(frame, FARCALL_FFI_Error_Code_UNAVAILABLE, "not today") : nullptr;
  });
  const ForeignCall call({.target = target});
  Invocation invocation(call);
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(error_of(ErrorCode::kUnavailable, [&] { invocation.execute(); }),
              "UNAVAILABLE: not today (ffi target \"sometimes\")");
  }
  should_fail = false;
  invocation.execute();
}

TEST(ForeignCall, AThrowingHandlerIsAnInternalError) {
  const auto thrower = [](FARCALL_FFI_CallFrame* frame) -> FARCALL_FFI_Error* {
    if (answers_metadata(frame)) return nullptr;
    throw std::runtime_error("out of luck");
  };
  const auto target = make_target("thrower", HandlerBundle{.execute = thrower});
  EXPECT_EQ(error_of(ErrorCode::kInternal, [&] { call_target(target, {}, {}); }),
            "INTERNAL: the handler threw: out of luck (ffi target \"thrower\")");
  const auto in_stage =
      make_target("thrower", HandlerBundle{.instantiate = thrower, .execute = twice});
  EXPECT_EQ(error_of(ErrorCode::kInternal, [&] { call_target(in_stage, {}, {}); }),
            "INTERNAL: the handler threw: out of luck (ffi target \"thrower\")");
}

TEST(ForeignCall, WhatACallableThrowsComesThrough) {
  struct Special {
    int value;
  };
  const auto target = make_target(
      "callable", [](FARCALL_FFI_CallFrame*) -> FARCALL_FFI_Error* { throw Special{7}; });
  const ForeignCall call({.target = target});
  Invocation invocation(call);
  for (int run = 0; run < 2; ++run) {
    try {
      invocation.execute();
      FAIL() << "nothing was thrown";
    } catch (const Special& special) {
      EXPECT_EQ(special.value, 7);
    }
  }
}

TEST(ForeignCall, CallablesKeepStateAndLiveAsLongAsTheirTarget) {
  auto count = std::make_shared<int>(0);
  auto target = make_target("counting", [count](FARCALL_FFI_CallFrame*) {
    ++*count;
    return static_cast<FARCALL_FFI_Error*>(nullptr);
  });
  {
    const ForeignCall call({.target = std::move(target)});
    Invocation invocation(call);
    invocation.execute();
    invocation.execute();
    EXPECT_EQ(*count, 2);
    EXPECT_EQ(count.use_count(), 2);
  }
  EXPECT_EQ(count.use_count(), 1);
}

// A handler may call farcall, even recursively.
TEST(ForeignCall, CallsNest) {
  std::shared_ptr<const Target> target;
  int depth = 0;
  target = make_target("nested", [&](FARCALL_FFI_CallFrame*) {
    if (++depth < 50) call_target(target, {}, {});
    return static_cast<FARCALL_FFI_Error*>(nullptr);
  });
  call_target(target, {}, {});
  EXPECT_EQ(depth, 50);
}

TEST(ForeignCall, RefusesSpecsThatDoNotFit) {
  const auto typed = make_target("typed", HandlerBundle{.execute = twice});
  const auto refused = [](ForeignCallSpec spec) {
    return error_of(ErrorCode::kInvalidArgument, [&] { ForeignCall call(std::move(spec)); });
  };
  EXPECT_EQ(refused({}), "ffi_call: the target is null");
  EXPECT_EQ(refused({.target = typed, .custom_call_api_version = 3}),
            "ffi_call(\"typed\"): the target is typed: use custom_call_api_version 4, got 3");
  EXPECT_EQ(refused({.target = typed, .custom_call_api_version = 5}),
            "ffi_call(\"typed\"): custom_call_api_version must be from 0 to 4, got 5");
  EXPECT_EQ(refused({.target = typed, .legacy_backend_config = "x"}),
            "ffi_call(\"typed\"): legacy_backend_config is for custom_call_api_version 0 to 3; use "
            "attributes");
  EXPECT_EQ(refused({.target = typed, .results = {ShapeDtype()}}),
            "ffi_call(\"typed\"): result 0 has no type");
}

}  // namespace
}  // namespace farcall
