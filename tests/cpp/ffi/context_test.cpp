// What the execution context offers in each stage, and its answers to misuse.
#include <chrono>
#include <cstring>
#include <thread>

#include <gmock/gmock.h>

#include "testing.h"

namespace farcall {
namespace {

using testing::answers_metadata;
using testing::error_of;
using testing::run_as_handler;
using testing::text_of;

// The answers to every possible request of a handler, one line each.
std::string ask_for_all(FARCALL_FFI_CallFrame* frame) {
  const FARCALL_FFI_Api* api = frame->api;
  FARCALL_FFI_TypeId type = {12345};
  FARCALL_FFI_Stream_Get_Args stream = {sizeof(stream), nullptr, frame->ctx, nullptr};
  FARCALL_FFI_DeviceMemory_Allocate_Args memory = {sizeof(memory), nullptr, frame->ctx, 8, 8,
                                                   nullptr};
  int64_t threads = 0;
  FARCALL_FFI_ThreadPool_NumThreads_Args pool = {sizeof(pool), nullptr, frame->ctx, &threads};
  FARCALL_FFI_ExecutionContext_Get_Args data = {sizeof(data), nullptr, frame->ctx, &type, nullptr};
  FARCALL_FFI_RunId_Get_Args run_id = {sizeof(run_id), nullptr, frame->ctx, 0};
  FARCALL_FFI_DeviceOrdinal_Get_Args ordinal = {sizeof(ordinal), nullptr, frame->ctx, 0};
  FARCALL_FFI_ExecutionContext_FindExtension_Args extension = {sizeof(extension), nullptr,
                                                               frame->ctx, 1, nullptr};
  FARCALL_FFI_CustomOptions_Get_Args options = {sizeof(options), nullptr, frame->ctx, nullptr};
  std::string lines;
  for (FARCALL_FFI_Error* error :
       {api->Stream_Get(&stream), api->DeviceMemory_Allocate(&memory),
        api->ThreadPool_NumThreads(&pool), api->ExecutionContext_Get(&data),
        api->RunId_Get(&run_id), api->DeviceOrdinal_Get(&ordinal),
        api->ExecutionContext_FindExtension(&extension), api->CustomOptions_Get(&options)}) {
    lines += text_of(api, error) + "\n";
  }
  return lines;
}

std::string answers[kNumStages];

FARCALL_FFI_Error* ask(FARCALL_FFI_CallFrame* frame) {
  if (answers_metadata(frame)) return nullptr;
  answers[frame->stage] = ask_for_all(frame);
  return nullptr;
}

TEST(Context, EachStageOffersItsOwn) {
  call_target(make_target("context", HandlerBundle{ask, ask, ask, ask, nullptr}), {}, {});
  const std::string stream =
      "FAILED_PRECONDITION: there is no stream: the GPU context is not available on platform "
      "\"cpu\"\n";
  const std::string running =
      stream + "OK\nOK\nNOT_FOUND: this execution has no user data of type 12345\nOK\nOK\nOK\nOK\n";
  EXPECT_EQ(answers[static_cast<int>(Stage::kExecute)], running);
  EXPECT_EQ(answers[static_cast<int>(Stage::kInitialize)], running);
  const std::string no = "FAILED_PRECONDITION: the prepare stage does not offer ";
  EXPECT_EQ(answers[static_cast<int>(Stage::kPrepare)],
            no + "the stream; these do: initialize, execute\n" + no +
                "device memory; these do: initialize, execute\n" + no +
                "the thread pool; these do: initialize, execute\n" +
                "NOT_FOUND: this execution has no user data of type 12345\nOK\nOK\nOK\nOK\n");
  EXPECT_NE(answers[static_cast<int>(Stage::kInstantiate)].find(
                "the instantiate stage does not offer the run id; these do: prepare, initialize, "
                "execute\n"),
            std::string::npos);
  EXPECT_EQ(answers[static_cast<int>(Stage::kInstantiate)].find("OK"), std::string::npos);
}

// Calls a function of the table with null and with structs of struct_size `size` whose fields are
// zero, except ctx.
template <class Args, class Function>
void call_badly(const FARCALL_FFI_Api* api, Function* function, FARCALL_FFI_ExecutionContext* ctx,
                int& num_refused) {
  const auto take = [&](Args* args) {
    if constexpr (std::is_void_v<decltype(function(args))>) {
      function(args);
    } else if (FARCALL_FFI_Error* error = function(args)) {
      EXPECT_THAT(text_of(api, error), ::testing::HasSubstr(": "));
      ++num_refused;
    }
  };
  take(nullptr);
  for (const size_t size : {size_t{0}, size_t{1}, sizeof(size_t), sizeof(Args) - 1, sizeof(Args)}) {
    Args args = {};
    if constexpr (requires { args.ctx; }) args.ctx = ctx;
    args.struct_size = size;
    take(&args);
  }
}

TEST(Context, EveryFunctionOfEveryTableSurvivesNullAndShortArguments) {
  run_as_handler([](FARCALL_FFI_CallFrame* frame) {
    for (int minor = 0; minor <= 3; ++minor) {
      const FARCALL_FFI_Api* api = ffi_api(minor);
      int refused = 0;
      for (FARCALL_FFI_ExecutionContext* ctx :
           {frame->ctx, static_cast<FARCALL_FFI_ExecutionContext*>(nullptr)}) {
#define CALL_BADLY(name, Args) call_badly<Args>(api, api->name, ctx, refused)
        CALL_BADLY(Error_GetDetails, FARCALL_FFI_Error_GetDetails_Args);
        CALL_BADLY(Error_Destroy, FARCALL_FFI_Error_Destroy_Args);
        CALL_BADLY(Handler_Register, FARCALL_FFI_Handler_Register_Args);
        CALL_BADLY(Stream_Get, FARCALL_FFI_Stream_Get_Args);
        CALL_BADLY(Type_Register, FARCALL_FFI_Type_Register_Args);
        CALL_BADLY(ExecutionContext_Get, FARCALL_FFI_ExecutionContext_Get_Args);
        CALL_BADLY(State_Set, FARCALL_FFI_State_Set_Args);
        CALL_BADLY(State_Get, FARCALL_FFI_State_Get_Args);
        CALL_BADLY(DeviceMemory_Allocate, FARCALL_FFI_DeviceMemory_Allocate_Args);
        CALL_BADLY(DeviceMemory_Free, FARCALL_FFI_DeviceMemory_Free_Args);
        CALL_BADLY(ThreadPool_Schedule, FARCALL_FFI_ThreadPool_Schedule_Args);
        CALL_BADLY(ThreadPool_NumThreads, FARCALL_FFI_ThreadPool_NumThreads_Args);
        CALL_BADLY(Future_SetAvailable, FARCALL_FFI_Future_SetAvailable_Args);
        CALL_BADLY(Future_SetError, FARCALL_FFI_Future_SetError_Args);
        CALL_BADLY(RunId_Get, FARCALL_FFI_RunId_Get_Args);
        CALL_BADLY(DeviceOrdinal_Get, FARCALL_FFI_DeviceOrdinal_Get_Args);
        CALL_BADLY(ExecutionContext_FindExtension, FARCALL_FFI_ExecutionContext_FindExtension_Args);
        CALL_BADLY(CustomOptions_Get, FARCALL_FFI_CustomOptions_Get_Args);
#undef CALL_BADLY
      }
      EXPECT_GT(refused, 100) << "of version " << minor;
    }
    EXPECT_EQ(text_of(frame->api, frame->api->Error_Create(nullptr)),
              "INVALID_ARGUMENT: Error_Create: the arguments are null");
    EXPECT_EQ(text_of(frame->api, frame->api->Future_Create(nullptr)),
              "INVALID_ARGUMENT: Future_Create: the arguments are null");
    FARCALL_FFI_ThreadPool_NumThreads_Args pool = {sizeof(pool), nullptr, frame->ctx, nullptr};
    EXPECT_EQ(text_of(frame->api, frame->api->ThreadPool_NumThreads(&pool)),
              "INVALID_ARGUMENT: ThreadPool_NumThreads: the output pointer num_threads is null");
    FARCALL_FFI_Handler_Register_Args named = {};
    named.struct_size = sizeof(named);
    named.name = {nullptr, 7};
    EXPECT_EQ(text_of(frame->api, frame->api->Handler_Register(&named)),
              "INVALID_ARGUMENT: registry: a name of 7 bytes is null");
  });
}

TEST(Context, MistakesAreErrors) {
  run_as_handler([](FARCALL_FFI_CallFrame* frame) {
    FARCALL_FFI_CallFrame none = *frame;
    none.ctx = nullptr;
    EXPECT_NE(ask_for_all(&none).find("INVALID_ARGUMENT: the run id needs the context of a call"),
              std::string::npos);
    FARCALL_FFI_RunId_Get_Args small = {16, nullptr, frame->ctx, 0};
    EXPECT_EQ(text_of(frame->api, frame->api->RunId_Get(&small)),
              "INVALID_ARGUMENT: RunId_Get: the argument struct must have at least 32 bytes, got "
              "16. The handler was not built with a header of this interface.");
    FARCALL_FFI_DeviceMemory_Allocate_Args odd = {sizeof(odd), nullptr, frame->ctx, 8, 3, nullptr};
    EXPECT_EQ(text_of(frame->api, frame->api->DeviceMemory_Allocate(&odd)),
              "INVALID_ARGUMENT: alignment must be a power of two, got 3");
    FARCALL_FFI_DeviceMemory_Allocate_Args huge = {sizeof(huge), nullptr, frame->ctx,
                                                   SIZE_MAX - 8, 64,      nullptr};
    EXPECT_EQ(
        text_of(frame->api, frame->api->DeviceMemory_Allocate(&huge)),
        "RESOURCE_EXHAUSTED: out of memory: cannot allocate 18446744073709551607 bytes of scratch");
    FARCALL_FFI_ThreadPool_Schedule_Args task = {sizeof(task), nullptr, frame->ctx, nullptr,
                                                 nullptr};
    EXPECT_EQ(text_of(frame->api, frame->api->ThreadPool_Schedule(&task)),
              "INVALID_ARGUMENT: the task is null");
  });
}

void* allocate(FARCALL_FFI_CallFrame* frame, size_t size, size_t alignment) {
  FARCALL_FFI_DeviceMemory_Allocate_Args args = {sizeof(args), nullptr,   frame->ctx,
                                                 size,         alignment, nullptr};
  EXPECT_EQ(text_of(frame->api, frame->api->DeviceMemory_Allocate(&args)), "OK");
  return args.data;
}

std::string release(FARCALL_FFI_CallFrame* frame, void* data) {
  FARCALL_FFI_DeviceMemory_Free_Args args = {sizeof(args), nullptr, frame->ctx, 8, data};
  return text_of(frame->api, frame->api->DeviceMemory_Free(&args));
}

TEST(Context, Scratch) {
  run_as_handler([](FARCALL_FFI_CallFrame* frame) {
    void* first = allocate(frame, 100, 1);
    void* second = allocate(frame, 0, 0);
    void* third = allocate(frame, 10, 8192);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(second) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(third) % 8192, 0u);
    EXPECT_NE(second, nullptr);
    std::memset(first, 1, 100);
    EXPECT_EQ(release(frame, second), "OK");
    EXPECT_EQ(release(frame, first), "OK");
    EXPECT_EQ(release(frame, nullptr), "OK");
    int other;
    for (void* wrong : {static_cast<void*>(&other), first}) {
      EXPECT_EQ(release(frame, wrong),
                "INVALID_ARGUMENT: the memory to free was not allocated by this call, or has been "
                "freed already");
    }
    EXPECT_EQ(release(frame, third), "OK");
  });
}

TEST(Context, ForgottenScratchIsFreedAndCounted) {
  bool should_fail = false;
  const auto target = make_target("scratch", [&](FARCALL_FFI_CallFrame* frame) {
    allocate(frame, 10, 1);
    allocate(frame, 20, 1);
    return should_fail ? testing::fail(frame, FARCALL_FFI_Error_Code_ABORTED, "on purpose")
                       : nullptr;
  });
  const ForeignCall call({.target = target});
  Invocation invocation(call);
  invocation.execute();
  EXPECT_EQ(invocation.num_leaked_scratch_blocks(), 2u);
  should_fail = true;
  error_of(ErrorCode::kAborted, [&] { invocation.execute(); });
  EXPECT_EQ(invocation.num_leaked_scratch_blocks(), 4u);
}

TEST(Context, ForgottenScratchOfAStageIsFreedWithTheStage) {
  const auto forget = [](FARCALL_FFI_CallFrame* frame) -> FARCALL_FFI_Error* {
    if (!answers_metadata(frame)) allocate(frame, 10, 1);
    return nullptr;
  };
  const auto nothing = [](FARCALL_FFI_CallFrame* frame) -> FARCALL_FFI_Error* {
    answers_metadata(frame);
    return nullptr;
  };
  const ForeignCall call(
      {.target = make_target("scratch", HandlerBundle{.initialize = forget, .execute = nothing})});
  Invocation invocation(call);
  const ExecutionOptions options;
  invocation.begin(options);
  invocation.initialize();
  EXPECT_EQ(invocation.num_leaked_scratch_blocks(), 1u);
  EXPECT_EQ(call.scratch_peak(), 10u);
  invocation.begin(options);
  invocation.initialize();
  EXPECT_EQ(invocation.num_leaked_scratch_blocks(), 2u);
  EXPECT_EQ(call.scratch_peak(), 10u);  // never two at once
}

TEST(Context, ScratchIsOfTheHostAlone) {
  run_as_handler(
      [](FARCALL_FFI_CallFrame* frame) {
        FARCALL_FFI_DeviceMemory_Allocate_Args args = {sizeof(args), nullptr, frame->ctx, 8, 8,
                                                       nullptr};
        EXPECT_EQ(text_of(frame->api, frame->api->DeviceMemory_Allocate(&args)),
                  "UNIMPLEMENTED: this runtime allocates memory only on platform \"cpu\", not on "
                  "\"cuda\"");
        FARCALL_FFI_Stream_Get_Args stream = {sizeof(stream), nullptr, frame->ctx, nullptr};
        EXPECT_EQ(frame->api->Stream_Get(&stream), nullptr);
        EXPECT_EQ(stream.stream, reinterpret_cast<void*>(0x40));
      },
      {.stream = reinterpret_cast<void*>(0x40)}, {}, "cuda");
}

int64_t run_id_of(FARCALL_FFI_CallFrame* frame) {
  FARCALL_FFI_RunId_Get_Args args = {sizeof(args), nullptr, frame->ctx, 0};
  EXPECT_EQ(text_of(frame->api, frame->api->RunId_Get(&args)), "OK");
  return args.run_id;
}

TEST(Context, RunIds) {
  int64_t id = 0;
  const auto target = make_target("run_id", [&](FARCALL_FFI_CallFrame* frame) {
    id = run_id_of(frame);
    return static_cast<FARCALL_FFI_Error*>(nullptr);
  });
  const ForeignCall call({.target = target});
  Invocation invocation(call);
  const ExecutionOptions fresh, given = {.run_id = 77};
  invocation.begin(fresh);
  invocation.execute();
  const int64_t first = id;
  invocation.execute();
  EXPECT_EQ(id, first);  // one id per execution, not per call
  invocation.begin(fresh);
  invocation.execute();
  EXPECT_NE(id, first);
  invocation.begin(given);
  invocation.execute();
  EXPECT_EQ(id, 77);
}

TEST(Context, CustomOptionsAreNeverNull) {
  const auto size_of_options = [](const ExecutionOptions& options) {
    int64_t size = -1;
    run_as_handler(
        [&](FARCALL_FFI_CallFrame* frame) {
          FARCALL_FFI_CustomOptions_Get_Args args = {sizeof(args), nullptr, frame->ctx, nullptr};
          EXPECT_EQ(frame->api->CustomOptions_Get(&args), nullptr);
          size = args.attrs->size;
        },
        options);
    return size;
  };
  EXPECT_EQ(size_of_options({}), 0);
  EXPECT_EQ(size_of_options({.custom_options = make_custom_options({{"a", 1}, {"b", 2}})}), 2);
}

TEST(Context, UserDataIsFoundByItsType) {
  int one = 1, two = 2;
  const ExecutionOptions options = {.user_data = {{11, &one}, {22, &two}}};
  run_as_handler(
      [&](FARCALL_FFI_CallFrame* frame) {
        const auto ask_for = [&](int64_t id) {
          FARCALL_FFI_TypeId type = {id};
          FARCALL_FFI_ExecutionContext_Get_Args args = {sizeof(args), nullptr, frame->ctx, &type,
                                                        nullptr};
          return std::pair(text_of(frame->api, frame->api->ExecutionContext_Get(&args)), args.data);
        };
        EXPECT_EQ(ask_for(11).second, &one);
        EXPECT_EQ(ask_for(22).second, &two);
        EXPECT_EQ(ask_for(33).first, "NOT_FOUND: this execution has no user data of type 33");
        EXPECT_EQ(ask_for(0).second, nullptr);
      },
      options);
}

TEST(Context, ExtensionsAreFoundAlongTheirList) {
  const FARCALL_FFI_Extension last = {sizeof(last), {3, 1, 0}, nullptr};
  const FARCALL_FFI_Extension middle = {sizeof(middle), {2, 1, 0}, &last};
  const FARCALL_FFI_Extension first = {sizeof(first), {1, 1, 0}, &middle};
  const ExecutionOptions options = {.extensions = &first};
  run_as_handler(
      [&](FARCALL_FFI_CallFrame* frame) {
        const auto find = [&](int64_t type) {
          FARCALL_FFI_ExecutionContext_FindExtension_Args args = {sizeof(args), nullptr, frame->ctx,
                                                                  type, nullptr};
          EXPECT_EQ(frame->api->ExecutionContext_FindExtension(&args), nullptr);
          return args.extension;
        };
        EXPECT_EQ(find(1), &first);
        EXPECT_EQ(find(2), &middle);
        EXPECT_EQ(find(3), &last);
        EXPECT_EQ(find(4), nullptr);
      },
      options);
}

// ---- errors and futures ----

TEST(Context, ErrorsAreReadAsFarAsTheHandlerKnowsThem) {
  run_as_handler([](FARCALL_FFI_CallFrame* frame) {
    FARCALL_FFI_Error* error =
        testing::fail(frame, static_cast<FARCALL_FFI_Error_Code>(99), "text");
    FARCALL_FFI_Error_GetDetails_Args old = {
        FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Error_GetDetails_Args, message), nullptr, error,
        nullptr, FARCALL_FFI_Error_Code_DATA_LOSS};
    frame->api->Error_GetDetails(&old);
    EXPECT_STREQ(old.message, "text");
    EXPECT_EQ(old.errc, FARCALL_FFI_Error_Code_DATA_LOSS);  // beyond struct_size: unchanged
    EXPECT_EQ(text_of(frame->api, error), "UNKNOWN: text");
    EXPECT_EQ(text_of(frame->api, testing::fail(frame, FARCALL_FFI_Error_Code_OK, "")),
              "UNKNOWN: ");
    EXPECT_EQ(
        text_of(frame->api, testing::fail(frame, FARCALL_FFI_Error_Code_UNAUTHENTICATED, "who")),
        "UNAUTHENTICATED: who");
  });
}

FARCALL_FFI_Future* new_future(FARCALL_FFI_CallFrame* frame) {
  FARCALL_FFI_Future_Create_Args args = {
      FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Future_Create_Args, extension_start), nullptr, nullptr};
  EXPECT_EQ(frame->api->Future_Create(&args), nullptr);
  return args.future;
}

TEST(Context, FuturesAreWaitedFor) {
  const FARCALL_FFI_Api* api = ffi_api();
  for (const bool should_fail : {false, true}) {
    std::thread completer;
    int value = 0;
    const auto target = make_target("future", [&](FARCALL_FFI_CallFrame* frame) {
      FARCALL_FFI_Future* future = frame->future = new_future(frame);
      completer = std::thread([=, &value] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        value = 42;
        if (should_fail) {
          FARCALL_FFI_Error_Create_Args create = {sizeof(create), nullptr, "too late",
                                                  FARCALL_FFI_Error_Code_DEADLINE_EXCEEDED};
          FARCALL_FFI_Future_SetError_Args args = {sizeof(args), nullptr, future,
                                                   api->Error_Create(&create)};
          EXPECT_EQ(api->Future_SetError(&args), nullptr);
        } else {
          FARCALL_FFI_Future_SetAvailable_Args args = {sizeof(args), nullptr, future};
          EXPECT_EQ(api->Future_SetAvailable(&args), nullptr);
        }
      });
      return static_cast<FARCALL_FFI_Error*>(nullptr);
    });
    if (should_fail) {
      EXPECT_EQ(error_of(ErrorCode::kDeadlineExceeded, [&] { call_target(target, {}, {}); }),
                "DEADLINE_EXCEEDED: too late (ffi target \"future\")");
    } else {
      call_target(target, {}, {});
    }
    EXPECT_EQ(value, 42);
    completer.join();
  }
}

TEST(Context, AFutureOfThePastIsNotSeenAgain) {
  const FARCALL_FFI_Api* api = ffi_api();
  int calls = 0;
  const auto target = make_target("future", [&](FARCALL_FFI_CallFrame* frame) {
    EXPECT_EQ(frame->future, nullptr);
    if (calls++ == 0) {
      frame->future = new_future(frame);
      FARCALL_FFI_Future_SetAvailable_Args args = {sizeof(args), nullptr, frame->future};
      api->Future_SetAvailable(&args);
    }
    return static_cast<FARCALL_FFI_Error*>(nullptr);
  });
  const ForeignCall call({.target = target});
  Invocation invocation(call);
  for (int i = 0; i < 3; ++i) invocation.execute();
  EXPECT_EQ(calls, 3);
}

void fail_later(const FARCALL_FFI_Api* api, FARCALL_FFI_Future* future, const char* message) {
  FARCALL_FFI_Error_Create_Args create = {sizeof(create), nullptr, message,
                                          FARCALL_FFI_Error_Code_DATA_LOSS};
  FARCALL_FFI_Future_SetError_Args args = {sizeof(args), nullptr, future,
                                           api->Error_Create(&create)};
  EXPECT_EQ(api->Future_SetError(&args), nullptr);
}

TEST(Context, TheErrorThatAHandlerReturnsGoesBeforeThatOfItsFuture) {
  const auto target = make_target("future", [](FARCALL_FFI_CallFrame* frame) {
    frame->future = new_future(frame);
    fail_later(frame->api, frame->future, "later");
    return testing::fail(frame, FARCALL_FFI_Error_Code_ABORTED, "at once");
  });
  EXPECT_EQ(error_of(ErrorCode::kAborted, [&] { call_target(target, {}, {}); }),
            "ABORTED: at once (ffi target \"future\")");
}

TEST(Context, AFutureIsForgottenWhenItsHandlerThrows) {
  int calls = 0;
  FARCALL_FFI_Future* abandoned = nullptr;
  const auto target = make_target("future", [&](FARCALL_FFI_CallFrame* frame) {
    if (calls++ == 0) {
      frame->future = abandoned = new_future(frame);
      throw std::runtime_error("after the future was made");
    }
    EXPECT_EQ(frame->future, nullptr);
    return static_cast<FARCALL_FFI_Error*>(nullptr);
  });
  const ForeignCall call({.target = target});
  Invocation invocation(call);
  EXPECT_THROW(invocation.execute(), std::runtime_error);
  FARCALL_FFI_Future_SetAvailable_Args args = {sizeof(args), nullptr, abandoned};
  EXPECT_EQ(ffi_api()->Future_SetAvailable(&args), nullptr);
  invocation.execute();
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace farcall
