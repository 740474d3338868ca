// States of the stages: the order of creation and destruction, and who may read them.
#include "testing.h"

namespace farcall {
namespace {

using testing::answers_metadata;
using testing::error_of;
using testing::fail;
using testing::text_of;

// The events in order: "+i": created by instantiate; "-p": prepare's state destroyed; "x":
// executed.
std::string events;
char failing_stage = ' ';

std::string take_events() { return std::exchange(events, {}); }

FARCALL_FFI_TypeId object_id = {}, other_id = {};

void destroy(void* object) {
  const std::unique_ptr<char> owned(static_cast<char*>(object));
  events += '-';
  events += *owned;
}

void register_types() {
  static const FARCALL_FFI_TypeInfo info = {sizeof(info), nullptr, destroy};
  register_ffi_type("state.object", &object_id, &info);
  register_ffi_type("state.other", &other_id);
}

FARCALL_FFI_Error* set_state(FARCALL_FFI_CallFrame* frame, FARCALL_FFI_ExecutionStage stage,
                             char* object, FARCALL_FFI_TypeId* type = &object_id) {
  FARCALL_FFI_State_Set_Args args = {sizeof(args), nullptr, frame->ctx, stage, type, object};
  return frame->api->State_Set(&args);
}

std::string get_state(FARCALL_FFI_CallFrame* frame, FARCALL_FFI_ExecutionStage stage,
                      FARCALL_FFI_TypeId* type = &object_id) {
  FARCALL_FFI_State_Get_Args args = {sizeof(args), nullptr, frame->ctx, stage, type, nullptr};
  FARCALL_FFI_Error* error = frame->api->State_Get(&args);
  if (error != nullptr) return text_of(frame->api, error);
  return {*static_cast<char*>(args.state)};
}

template <FARCALL_FFI_ExecutionStage kStage, char kName>
FARCALL_FFI_Error* stage_handler(FARCALL_FFI_CallFrame* frame) {
  if (answers_metadata(frame)) return nullptr;
  if (failing_stage == kName) {
    return fail(frame, FARCALL_FFI_Error_Code_ABORTED, "told to fail");
  }
  events += '+';
  events += kName;
  return set_state(frame, kStage, new char(kName));
}

FARCALL_FFI_Error* execute(FARCALL_FFI_CallFrame* frame) {
  if (answers_metadata(frame)) return nullptr;
  events += get_state(frame, FARCALL_FFI_ExecutionStage_INSTANTIATE);
  events += get_state(frame, FARCALL_FFI_ExecutionStage_PREPARE);
  events += get_state(frame, FARCALL_FFI_ExecutionStage_INITIALIZE);
  return nullptr;
}

const HandlerBundle kAllStages = {
    .instantiate = stage_handler<FARCALL_FFI_ExecutionStage_INSTANTIATE, 'i'>,
    .prepare = stage_handler<FARCALL_FFI_ExecutionStage_PREPARE, 'p'>,
    .initialize = stage_handler<FARCALL_FFI_ExecutionStage_INITIALIZE, 'n'>,
    .execute = execute};

class State : public ::testing::Test {
 protected:
  void SetUp() override {
    register_types();
    events = {};
    failing_stage = ' ';
  }
};

TEST_F(State, OnePerExecutableAndOnePerExecution) {
  const ExecutionOptions options;
  {
    const ForeignCall call({.target = make_target("state", kAllStages)});
    EXPECT_EQ(take_events(), "+i");
    Invocation invocation(call);
    for (int run = 0; run < 2; ++run) {
      invocation.begin(options);
      invocation.prepare();
      invocation.initialize();
      invocation.execute();
      invocation.execute();
      invocation.end();
      EXPECT_EQ(take_events(), "+p+nipnipn-n-p");
    }
    invocation.begin(options);
    invocation.prepare();
    // Destroyed with its invocation, although that was not ended.
  }
  EXPECT_EQ(events, "+p-p-i");
}

TEST_F(State, AFailedStageLeavesNothingBehind) {
  failing_stage = 'i';
  EXPECT_EQ(error_of(ErrorCode::kAborted,
                     [] { ForeignCall({.target = make_target("state", kAllStages)}); }),
            "ABORTED: told to fail (ffi target \"state\")");
  EXPECT_EQ(events, "");

  failing_stage = 'n';
  const ExecutionOptions options;
  const ForeignCall call({.target = make_target("state", kAllStages)});
  Invocation invocation(call);
  invocation.begin(options);
  invocation.prepare();
  error_of(ErrorCode::kAborted, [&] { invocation.initialize(); });
  invocation.end();
  EXPECT_EQ(take_events(), "+i+p-p");
  failing_stage = ' ';
  invocation.begin(options);
  invocation.prepare();
  invocation.initialize();
  invocation.execute();
  invocation.end();
  EXPECT_EQ(events, "+p+nipn-n-p");
}

TEST_F(State, BeginningAgainEndsTheExecutionBefore) {
  const ExecutionOptions options;
  const ForeignCall call({.target = make_target("state", kAllStages)});
  Invocation invocation(call);
  invocation.begin(options);
  invocation.prepare();
  invocation.begin(options);
  EXPECT_EQ(take_events(), "+i+p-p");
}

TEST_F(State, ReadingWhatIsNotThere) {
  testing::run_as_handler([](FARCALL_FFI_CallFrame* frame) {
    EXPECT_EQ(get_state(frame, FARCALL_FFI_ExecutionStage_INSTANTIATE),
              "NOT_FOUND: the instantiate stage has set no state");
    EXPECT_EQ(get_state(frame, FARCALL_FFI_ExecutionStage_EXECUTE),
              "INVALID_ARGUMENT: the execute stage has no state; instantiate, prepare and "
              "initialize do");
    EXPECT_EQ(get_state(frame, static_cast<FARCALL_FFI_ExecutionStage>(9)),
              "INVALID_ARGUMENT: unknown stage 9");
    char object = 'x';
    EXPECT_EQ(text_of(frame->api, set_state(frame, FARCALL_FFI_ExecutionStage_PREPARE, &object)),
              "FAILED_PRECONDITION: the execute stage cannot set the state of the prepare stage");
  });
}

std::string own_state_text;

TEST_F(State, OfAStageIsForTheStagesAfterIt) {
  const auto prepare = [](FARCALL_FFI_CallFrame* frame) -> FARCALL_FFI_Error* {
    if (answers_metadata(frame)) return nullptr;
    FARCALL_FFI_Error* error = set_state(frame, FARCALL_FFI_ExecutionStage_PREPARE, new char('p'));
    own_state_text = get_state(frame, FARCALL_FFI_ExecutionStage_PREPARE);
    return error;
  };
  HandlerBundle bundle = kAllStages;
  bundle.prepare = prepare;
  call_target(make_target("state", bundle), {}, {});
  EXPECT_EQ(own_state_text,
            "FAILED_PRECONDITION: the prepare stage does not offer the state of the prepare stage; "
            "these do: initialize, execute");
  EXPECT_EQ(take_events(), "+i+nipn-n-p-i");
}

std::string wrong_type_text, twice_text, no_deleter_text, no_id_text, early_text;

TEST_F(State, WrongTypesAndOrders) {
  const auto instantiate = [](FARCALL_FFI_CallFrame* frame) -> FARCALL_FFI_Error* {
    if (answers_metadata(frame)) return nullptr;
    const auto stage = FARCALL_FFI_ExecutionStage_INSTANTIATE;
    static FARCALL_FFI_TypeId none = {};
    char object = 'x';
    no_id_text = text_of(frame->api, set_state(frame, stage, &object, &none));
    no_deleter_text = text_of(frame->api, set_state(frame, stage, &object, &other_id));
    early_text = get_state(frame, FARCALL_FFI_ExecutionStage_PREPARE);
    FARCALL_FFI_Error* error = set_state(frame, stage, new char('i'));
    twice_text = text_of(frame->api, set_state(frame, stage, &object));
    return error;
  };
  const auto execute = [](FARCALL_FFI_CallFrame* frame) -> FARCALL_FFI_Error* {
    if (answers_metadata(frame)) return nullptr;
    wrong_type_text = get_state(frame, FARCALL_FFI_ExecutionStage_INSTANTIATE, &other_id);
    return nullptr;
  };
  call_target(make_target("state", HandlerBundle{.instantiate = instantiate, .execute = execute}),
              {}, {});
  EXPECT_EQ(no_id_text,
            "FAILED_PRECONDITION: the type of the state has no id: register it with "
            "register_ffi_type");
  EXPECT_EQ(no_deleter_text,
            "FAILED_PRECONDITION: the type \"state.other\" of the state has no deleter: give its "
            "type info to register_ffi_type");
  EXPECT_EQ(early_text,
            "FAILED_PRECONDITION: the instantiate stage does not offer the state of the prepare "
            "stage; these do: initialize, execute");
  EXPECT_EQ(twice_text, "FAILED_PRECONDITION: the instantiate stage has set its state already");
  EXPECT_EQ(wrong_type_text,
            "INVALID_ARGUMENT: the state of the instantiate stage has the type \"state.object\", "
            "not \"state.other\"");
  EXPECT_EQ(events, "-i");
}

// Interfaces 0.1 and 0.3 have the same struct_size but different layouts: the table of the
// handler's own version reads them.
TEST_F(State, OldLayouts) {
  for (const int minor : {0, 1, 2}) {
    static int version;
    version = minor;
    const auto instantiate = [](FARCALL_FFI_CallFrame* frame) -> FARCALL_FFI_Error* {
      if (answers_metadata(frame, 0, version)) return nullptr;
      FARCALL_FFI_State_Set_Args_0_1 args = {
          version < 2 ? sizeof(args)
                      : FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_State_Set_Args_0_1, state),
          nullptr,
          frame->ctx,
          &object_id,
          new char('o'),
          version < 2 ? destroy : nullptr};
      return frame->api->State_Set(reinterpret_cast<FARCALL_FFI_State_Set_Args*>(&args));
    };
    const auto execute = [](FARCALL_FFI_CallFrame* frame) -> FARCALL_FFI_Error* {
      if (answers_metadata(frame, 0, version)) return nullptr;
      FARCALL_FFI_State_Get_Args_0_1 args = {sizeof(args), nullptr, frame->ctx, &object_id,
                                             nullptr};
      auto* error = frame->api->State_Get(reinterpret_cast<FARCALL_FFI_State_Get_Args*>(&args));
      if (error != nullptr) return error;
      events += *static_cast<char*>(args.state);
      return nullptr;
    };
    events = {};
    call_target(make_target("state", HandlerBundle{.instantiate = instantiate, .execute = execute}),
                {}, {});
    EXPECT_EQ(events, "o-o") << "interface 0." << minor;
  }
}

}  // namespace
}  // namespace farcall
