// State of the stages and user data, in the layout of every interface version; types and their ids.
#include <memory>

#include <gtest/gtest.h>

#include "frame.h"

namespace ffi = farcall::ffi;
using ffi::testing::api_of;
using ffi::testing::Frame;
using ffi::testing::invalid;
using ffi::testing::ok;
using ffi::testing::Outcome;

namespace {

struct Counter {
  explicit Counter(int64_t first) : next(first) { ++alive; }
  ~Counter() { --alive; }
  int64_t next;
  static inline int alive = 0;
};

ffi::ErrorOr<std::unique_ptr<Counter>> MakeCounter(int64_t first) {
  if (first < 0) return ffi::Error::OutOfRange("first must not be negative");
  return std::make_unique<Counter>(first);
}
FARCALL_DEFINE_HANDLER(make_counter, MakeCounter, ffi::kInstantiate, "first");

std::unique_ptr<int> MakeNumber() { return std::make_unique<int>(5); }
FARCALL_DEFINE_HANDLER(make_prepared, MakeNumber, ffi::kPrepare);
FARCALL_DEFINE_HANDLER(make_initialized, MakeNumber, ffi::kInitialize);

void Count(ffi::State<Counter> counter, ffi::ResultBuffer<ffi::S64> out) {
  *out->typed_data() = counter->next++;
}
FARCALL_DEFINE_HANDLER(count_up, Count);

TEST(State, IsMadeOnceAndReadByEachCallInEveryVersion) {
  for (int minor = 0; minor <= 5; ++minor) {
    {
      int64_t out = 0;
      Frame frame(minor);
      frame.attrs.scalar("first", int64_t{40});
      EXPECT_EQ(frame.stage(ffi::kInstantiate).call(make_counter), ok()) << minor;
      EXPECT_EQ(Counter::alive, 1);
      frame.stage(ffi::kExecute).ret(ffi::S64, {}, &out);
      EXPECT_EQ(frame.call(count_up), ok()) << minor;
      EXPECT_EQ(frame.call(count_up), ok()) << minor;
      EXPECT_EQ(out, 41);
    }
    EXPECT_EQ(Counter::alive, 0) << "the runtime's deleter ran, minor " << minor;
  }
}

TEST(State, AnErrorInPlaceOfStateIsReturned) {
  Frame frame;
  frame.attrs.scalar("first", int64_t{-1});
  EXPECT_EQ(frame.stage(ffi::kInstantiate).call(make_counter),
            (Outcome{ffi::ErrorCode::kOutOfRange, "first must not be negative"}));
}

TEST(State, ARefusedStateIsDestroyed) {
  Frame frame;
  frame.context.refuses_state = true;
  frame.attrs.scalar("first", int64_t{1});
  EXPECT_EQ(frame.stage(ffi::kInstantiate).call(make_counter),
            (Outcome{ffi::ErrorCode::kAborted, "make_counter: no state today"}));
  EXPECT_EQ(Counter::alive, 0);
}

TEST(State, MissingStateIsAMistakeOfTheCall) {
  int64_t out = 0;
  EXPECT_EQ(Frame().ret(ffi::S64, {}, &out).call(count_up), invalid("count_up: state: no state"));
}

std::unique_ptr<Counter> MakeNone() { return nullptr; }
FARCALL_DEFINE_HANDLER(make_none, MakeNone, ffi::kInstantiate);

TEST(State, ANullPointerIsAnError) {
  EXPECT_EQ(Frame().stage(ffi::kInstantiate).call(make_none),
            (Outcome{ffi::ErrorCode::kInternal, "make_none: the handler returned no state"}));
}

void SumStates(ffi::Prepared<int> prepared, ffi::Initialized<int> initialized,
               ffi::ResultBuffer<ffi::S64> out) {
  *out->typed_data() = *prepared + *initialized;
}
FARCALL_DEFINE_HANDLER(sum_states, SumStates);

TEST(State, EachStageKeepsItsOwnSinceVersionThree) {
  for (int minor = 3; minor <= 5; ++minor) {
    int64_t out = 0;
    Frame frame(minor);
    EXPECT_EQ(frame.stage(ffi::kPrepare).call(make_prepared), ok());
    EXPECT_EQ(frame.stage(ffi::kInitialize).call(make_initialized), ok());
    EXPECT_EQ(frame.stage(ffi::kExecute).ret(ffi::S64, {}, &out).call(sum_states), ok());
    EXPECT_EQ(out, 10);
  }
  EXPECT_EQ(Frame(2).stage(ffi::kPrepare).call(make_prepared),
            (Outcome{ffi::ErrorCode::kUnimplemented,
                     "make_prepared: the runtime is older than 0.3 and keeps no prepare state"}));
  EXPECT_EQ(
      Frame(1).ret(ffi::S64, {}).call(sum_states),
      invalid("sum_states: 2 problems: prepare state: the runtime is older than 0.3 and keeps "
              "no prepare state; initialize state: the runtime is older than 0.3 and keeps no "
              "initialize state"));
}

// ---- user data ----------------------------------------------------------------------------------

struct Settings {
  int level;
};
FARCALL_DEFINE_TYPE(settings, Settings);

struct OldStyle {
  static ffi::TypeId id;
  int level;
};
ffi::TypeId OldStyle::id = {1234};

void UseSettings(ffi::UserData<Settings> user) { EXPECT_EQ(user->level, 6); }
FARCALL_DEFINE_HANDLER(use_settings, UseSettings);
void UseOldStyle(ffi::UserData<OldStyle> user) { EXPECT_EQ(user->level, 7); }
FARCALL_DEFINE_HANDLER(use_old_style, UseOldStyle);

TEST(UserData, IsFoundByTheExportedType) {
  Settings value{6};
  Frame frame;
  frame.context.user_data = &value;
  EXPECT_EQ(frame.call(use_settings),
            invalid("use_settings: user data: its type is not registered with the runtime"));
  settings_type_id()->type_id = frame.context.user_data_type = 88;  // as register_ffi_type does
  EXPECT_EQ(frame.call(use_settings), ok());
  frame.context.user_data_type = 89;
  EXPECT_EQ(frame.call(use_settings), invalid("use_settings: user data: no such user data"));
}

TEST(UserData, AStaticMemberIdIsHonoured) {
  OldStyle value{7};
  Frame frame;
  frame.context.user_data = &value;
  frame.context.user_data_type = 1234;
  EXPECT_EQ(frame.call(use_old_style), ok());
}

TEST(UserData, TheExportedInfoDestroysTheType) {
  const ffi::TypeInfo* info = settings_type_info();
  EXPECT_EQ(info->struct_size, sizeof(ffi::TypeInfo));
  info->deleter(new Settings{1});  // checked by the address sanitizer
}

// ---- the metadata query -------------------------------------------------------------------------

struct Answer {
  Outcome outcome;
  FARCALL_FFI_Metadata metadata;
};

// `canary` fills state_type_id before the query: old runtimes lack that field.
Answer ask(FARCALL_FFI_Handler* handler, const FARCALL_FFI_Api* api, int64_t canary = 0) {
  Answer answer = {};
  answer.metadata.struct_size = 36;  // what XLA's runtimes set, with and without the last field
  answer.metadata.state_type_id.type_id = canary;
  FARCALL_FFI_Metadata_Extension extension = {};
  extension.extension_base = {sizeof(extension), FARCALL_FFI_Extension_Metadata, nullptr};
  extension.metadata = &answer.metadata;
  Frame frame;
  frame.frame.api = api;
  frame.frame.extension_start = &extension.extension_base;
  answer.outcome = frame.call_as_it_is(handler);
  return answer;
}

void Traced() {}
FARCALL_DEFINE_HANDLER(traced, Traced, ffi::kCmdBufferCompatible);

TEST(Metadata, ReportsTheOlderOfBothVersions) {
  for (int minor = 1; minor <= 5; ++minor) {
    const Answer answer = ask(traced, api_of(minor));
    EXPECT_EQ(answer.outcome, ok());
    EXPECT_EQ(answer.metadata.api_version.major_version, 0);
    EXPECT_EQ(answer.metadata.api_version.minor_version, minor);
    EXPECT_EQ(answer.metadata.traits,
              uint32_t{FARCALL_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE});
    EXPECT_EQ(answer.metadata.state_type_id.type_id, 0);
  }
  FARCALL_FFI_Api newer = *api_of(5);
  newer.api_version.minor_version = 9;
  EXPECT_EQ(ask(traced, &newer).metadata.api_version.minor_version, 5);
  EXPECT_EQ(ask(traced, nullptr).metadata.api_version.minor_version, 5);
  EXPECT_EQ(ask(count_up, api_of(5)).metadata.traits, 0u);
}

TEST(Metadata, TellsTheTypeOfTheStateWhereTheFieldExists) {
  EXPECT_EQ(ask(make_counter, api_of(1), 555).metadata.state_type_id.type_id, 555);
  for (int minor = 2; minor <= 5; ++minor) {
    const int64_t reported = ask(make_counter, api_of(minor)).metadata.state_type_id.type_id;
    Frame frame(minor);
    frame.attrs.scalar("first", int64_t{1});
    EXPECT_EQ(frame.stage(ffi::kInstantiate).call(make_counter), ok());
    EXPECT_EQ(reported, frame.context.states.at(0).type_id) << minor;
  }
}

TEST(Metadata, ATypeHasOneNumberInARuntimeThatHasSeveralTables) {
  const FARCALL_FFI_Api other_table = *api_of(5);
  EXPECT_EQ(ask(make_counter, &other_table).metadata.state_type_id.type_id,
            ask(make_counter, api_of(5)).metadata.state_type_id.type_id);
  EXPECT_NE(ask(make_counter, api_of(4)).metadata.state_type_id.type_id,
            ask(make_counter, api_of(5)).metadata.state_type_id.type_id);
}

TEST(Metadata, IsFoundBehindOtherExtensions) {
  FARCALL_FFI_Metadata metadata = {};
  metadata.struct_size = 36;
  FARCALL_FFI_Metadata_Extension query = {{sizeof(query), FARCALL_FFI_Extension_Metadata, nullptr},
                                          &metadata};
  FARCALL_FFI_InternalExtension other = {
      sizeof(other), static_cast<FARCALL_FFI_InternalExtension_Type>(99), &query.extension_base};
  Frame frame;
  frame.frame.extension_start = &other;
  EXPECT_EQ(frame.call_as_it_is(traced), ok());
  EXPECT_EQ(metadata.api_version.minor_version, 5);
  other.next = nullptr;
  EXPECT_EQ(frame.call(traced), ok()) << "an unknown extension alone leaves a call a call";
}

// ---- the exported description -------------------------------------------------------------------

void Described(ffi::State<Counter>, ffi::BufferR2<ffi::F32>, std::optional<ffi::AnyBuffer>,
               ffi::RemainingArgs, ffi::ResultBuffer<ffi::BF16>, float, std::optional<int64_t>) {}
FARCALL_DEFINE_HANDLER(described, Described, "eps", ffi::attr("axis"), ffi::kCmdBufferCompatible);

// Tools read these structs from libraries of other builds: a change requires a new
// HandlerDesc::version.
static_assert(sizeof(ffi::HandlerDesc) == 56 && sizeof(ffi::ParamDesc) == 24);
static_assert(sizeof(ffi::TypeDesc) == 48 && sizeof(ffi::NamedType) == 32);

TEST(Description, TellsWhatTheHandlerTakes) {
  const ffi::HandlerDesc& desc = farcall_handler_described;
  EXPECT_EQ(desc.struct_size, sizeof(ffi::HandlerDesc));
  EXPECT_EQ(desc.version, 1u);
  EXPECT_STREQ(desc.name, "described");
  EXPECT_EQ(desc.stage, ffi::ExecutionStage::kExecute);
  EXPECT_EQ(desc.traits, 1u);
  EXPECT_NE(desc.handler, nullptr);
  ASSERT_EQ(desc.num_params, 7u);
  EXPECT_EQ(desc.params[0].kind, ffi::ParamKind::kContext);
  EXPECT_STREQ(desc.params[0].name, "state");
  EXPECT_EQ(desc.params[1].kind, ffi::ParamKind::kArgument);
  EXPECT_EQ(desc.params[1].type->dtype, ffi::F32);
  EXPECT_EQ(desc.params[1].type->rank, 2);
  EXPECT_TRUE(desc.params[2].is_optional);
  EXPECT_EQ(desc.params[2].type->rank, -1);
  EXPECT_EQ(desc.params[3].kind, ffi::ParamKind::kRemainingArgs);
  EXPECT_EQ(desc.params[4].kind, ffi::ParamKind::kResult);
  EXPECT_STREQ(desc.params[5].name, "eps");
  EXPECT_EQ(desc.params[5].type->kind, ffi::TypeKind::kScalar);
  EXPECT_FALSE(desc.params[5].is_optional);
  EXPECT_STREQ(desc.params[6].name, "axis");
  EXPECT_TRUE(desc.params[6].is_optional);
}

}  // namespace
