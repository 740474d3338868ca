#include <farcall/ffi/registry.h>

#include <fmt/format.h>

#include "testing.h"

namespace farcall {
namespace {

using testing::answers_metadata;
using testing::error_of;

template <int N>
FARCALL_FFI_Error* handler(FARCALL_FFI_CallFrame* frame) {
  answers_metadata(frame);
  return nullptr;
}
void untyped(void*, const void**) {}
void other_untyped(void*, const void**) {}

TEST(Registry, FindsWhatWasRegistered) {
  register_ffi_target("registry.plain", handler<1>);
  const auto target = find_target("registry.plain");
  EXPECT_EQ(target->name(), "registry.plain");
  EXPECT_EQ(target->platform(), "cpu");
  EXPECT_EQ(target->version(), kRuntimeApiVersion);
  EXPECT_FALSE(target->is_untyped());
  EXPECT_TRUE(target->has_stage(Stage::kExecute));
  EXPECT_FALSE(target->has_stage(Stage::kPrepare));
  EXPECT_TRUE(is_registered("registry.plain", "Host"));
  EXPECT_FALSE(is_registered("registry.plain", "cuda"));
  const auto names = registered_targets("cpu");
  EXPECT_NE(std::find(names.begin(), names.end(), "registry.plain"), names.end());
}

TEST(Registry, PlatformsInAnyCaseAndByAlias) {
  register_ffi_target("registry.gpu", handler<1>, "GPU");
  EXPECT_EQ(find_target("registry.gpu", "CUDA")->platform(), "cuda");
  EXPECT_EQ(find_target("registry.gpu", "rocm")->platform(), "rocm");
  EXPECT_EQ(find_target("registry.gpu", "gpu")->platform(), "cuda");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [] { register_ffi_target("registry.x", handler<1>, "xpu"); }),
            "registry: unknown platform \"xpu\". Known ones: cpu (or host), cuda, rocm, gpu (cuda "
            "and rocm), tpu, oneapi, metal.");
}

FARCALL_FFI_Error* recordable(FARCALL_FFI_CallFrame* frame) {
  answers_metadata(frame, 0, FARCALL_FFI_API_MINOR,
                   FARCALL_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE);
  return nullptr;
}

TEST(Registry, TraitsAreThoseOfTheExecuteStage) {
  const auto traits = [](const HandlerBundle& bundle) {
    return make_target("registry.traits", bundle)->traits();
  };
  EXPECT_EQ(traits({.execute = recordable}), FARCALL_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE);
  EXPECT_EQ(traits({.prepare = recordable, .execute = handler<1>}), 0u);
}

// Compiled calls stay valid while the version is the same.
TEST(Registry, TheSameTwiceChangesNothing) {
  const HandlerBundle bundle = {.prepare = handler<2>, .execute = handler<1>};
  register_ffi_target("registry.twice", bundle, "cpu", 1, 1);
  register_legacy_target("registry.twice", reinterpret_cast<void*>(untyped));
  const auto target = find_target("registry.twice");
  const uint64_t version = registry_version();
  register_ffi_target("registry.twice", bundle, "cpu", 1, 1);
  register_legacy_target("registry.twice", reinterpret_cast<void*>(untyped));
  EXPECT_EQ(registry_version(), version);
  EXPECT_EQ(find_target("registry.twice"), target);
  register_ffi_target("registry.twice", bundle, "rocm", 1, 1);
  EXPECT_NE(registry_version(), version);
  register_ffi_target("registry.twice", bundle, "gpu", 1, 1);  // rocm again, and cuda
  EXPECT_TRUE(is_registered("registry.twice", "cuda"));
}

TEST(Registry, AnotherUnderATakenNameSaysWhatDiffers) {
  register_ffi_target("registry.taken",
                      HandlerBundle{.prepare = handler<2>, .execute = handler<1>});
  EXPECT_EQ(
      error_of(ErrorCode::kAlreadyExists,
               [] { register_ffi_target("registry.taken", handler<3>, "cpu", 1, 1); }),
      "registry: \"registry.taken\" on platform \"cpu\" is registered already, with a prepare "
      "handler, another execute handler, traits 0 instead of 1. Choose another name.");
  register_legacy_target("registry.taken_untyped", reinterpret_cast<void*>(untyped));
  EXPECT_EQ(error_of(ErrorCode::kAlreadyExists,
                     [] {
                       register_legacy_target("registry.taken_untyped",
                                              reinterpret_cast<void*>(other_untyped));
                     }),
            "registry: \"registry.taken_untyped\" on platform \"cpu\" is registered already, with "
            "another untyped function. Choose another name.");
  const auto callable = [](FARCALL_FFI_CallFrame*) -> FARCALL_FFI_Error* { return nullptr; };
  register_ffi_target("registry.callable", callable);
  EXPECT_EQ(error_of(ErrorCode::kAlreadyExists,
                     [&] { register_ffi_target("registry.callable", callable); }),
            "registry: \"registry.callable\" on platform \"cpu\" is registered already, with "
            "another C++ callable. Choose another name.");
}

TEST(Registry, AnAliasIsTakenWholeOrNotAtAll) {
  register_ffi_target("registry.half", handler<1>, "rocm");
  error_of(ErrorCode::kAlreadyExists,
           [] { register_ffi_target("registry.half", handler<2>, "gpu"); });
  EXPECT_FALSE(is_registered("registry.half", "cuda"));
}

TEST(Registry, RefusesWhatCannotBeCalled) {
  EXPECT_EQ(
      error_of(
          ErrorCode::kInvalidArgument,
          [] { register_ffi_target("rms_norm", HandlerBundle{.prepare = handler<1>}, "cuda"); }),
      "registry: \"rms_norm\" on platform \"cuda\" has no execute stage.");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { register_ffi_target("", handler<1>); }),
            "registry: the name of a target is empty.");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [] { register_ffi_target("registry.v2", handler<1>, "cpu", 2); }),
            "registry: \"registry.v2\": api_version must be 0 (untyped) or 1 (typed), got 2.");
  EXPECT_EQ(
      error_of(ErrorCode::kInvalidArgument,
               [] {
                 register_ffi_target("registry.v0",
                                     HandlerBundle{.prepare = handler<1>, .execute = handler<1>},
                                     "cpu", 0);
               }),
      "registry: \"registry.v0\": an untyped target (api_version 0) has only the execute stage.");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { register_legacy_target("x", nullptr); }),
            "registry: \"x\" on platform \"cpu\" has no function.");
  EXPECT_EQ(
      error_of(ErrorCode::kInvalidArgument, [] { register_ffi_callable("x", HandlerFunction()); }),
      "registry: \"x\" on platform \"cpu\": the callable is empty.");
}

TEST(Registry, RefusesDataInPlaceOfAFunction) {
#ifdef __linux__
  static int data = 0;
  const auto heap = std::make_unique<int>();
  for (void* address : {static_cast<void*>(&data), static_cast<void*>(heap.get())}) {
    const std::string text = fmt::format(
        "is at {}, where there is no code. Pass the address of a function, of a library that stays "
        "loaded.",
        fmt::ptr(address));
    auto* wrong = reinterpret_cast<FARCALL_FFI_Handler*>(address);
    EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                       [&] { register_ffi_target("registry.data", wrong, "cuda"); }),
              "registry: \"registry.data\" on platform \"cuda\": its execute handler " + text);
    EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                       [&] { register_legacy_target("registry.data", address); }),
              "registry: \"registry.data\" on platform \"cpu\": its function " + text);
  }
#endif
}

TEST(Registry, NotFoundHelps) {
  register_ffi_target("registry.normalise", handler<1>, "cuda");
  register_ffi_target("registry.normalize", handler<1>, "metal");
  const std::string text =
      error_of(ErrorCode::kNotFound, [] { find_target("registry.normalise", "metal"); });
  EXPECT_EQ(
      text,
      "registry: no target \"registry.normalise\" on platform \"metal\". It is registered for "
      "cuda. Near names: \"registry.normalize\". The platform has 1 target; "
      "register_ffi_target adds one.");
  register_legacy_target("registry.old", reinterpret_cast<void*>(untyped), "metal");
  EXPECT_NE(error_of(ErrorCode::kNotFound, [] { find_target("registry.old", "metal"); })
                .find("It is registered as an untyped target: use custom_call_api_version 0 to 3."),
            std::string::npos);
  EXPECT_NE(error_of(ErrorCode::kNotFound, [] { find_target("registry.normalize", "metal", 2); })
                .find("no untyped target \"registry.normalize\" on platform \"metal\". It is "
                      "registered as a typed target: use custom_call_api_version 4."),
            std::string::npos);
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument, [] { find_target("f", "cpu", 5); }),
            "ffi_call(\"f\"): custom_call_api_version must be 0 to 3 for untyped targets and 4 for "
            "typed ones, got 5.");
}

TEST(Registry, ApiVersionZeroIsUntyped) {
  register_ffi_target("registry.zero",
                      reinterpret_cast<FARCALL_FFI_Handler*>(reinterpret_cast<void*>(untyped)),
                      "cpu", 0);
  EXPECT_EQ(find_target("registry.zero", "cpu", 1)->untyped_function(),
            reinterpret_cast<void*>(untyped));
}

TEST(Registry, ATargetIsMarkedAsBatchPartitionableInAnyOrder) {
  EXPECT_FALSE(is_batch_partitionable("registry.batch"));
  register_ffi_target_as_batch_partitionable("registry.batch");
  register_ffi_target("registry.batch", handler<1>);
  register_ffi_target_as_batch_partitionable("registry.batch");  // repeating it has no effect
  EXPECT_TRUE(is_batch_partitionable("registry.batch"));
  EXPECT_EQ(testing::error_of(ErrorCode::kInvalidArgument,
                              [] { register_ffi_target_as_batch_partitionable(""); }),
            "registry: the name of a target is empty.");
}

TEST(Registry, ABatchMayBeAllButTheDimensionsOfAnElement) {
  EXPECT_EQ(batch_element_rank("registry.elements"), std::nullopt);
  register_ffi_target_as_batch_partitionable("registry.elements", 2);
  EXPECT_TRUE(is_batch_partitionable("registry.elements"));
  EXPECT_EQ(batch_element_rank("registry.elements"), 2U);
  register_ffi_target_as_batch_partitionable("registry.elements");
  EXPECT_EQ(batch_element_rank("registry.elements"), std::nullopt);
}

// What a handler library does to register itself through the table. Before interface 0.4 the bundle
// has one pointer less.
TEST(Registry, HandlerRegisterReadsEitherBundle) {
  const FARCALL_FFI_ByteSpan platform = {"Host", 4};
  FARCALL_FFI_Handler_Register_Args now = {};
  now.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Handler_Register_Args, traits);
  now.name = {"registry.table_new", 18};
  now.platform = platform;
  now.bundle = {nullptr, nullptr, nullptr, handler<1>, handler<2>};
  now.traits = 1;
  EXPECT_EQ(ffi_api()->Handler_Register(&now), nullptr);
  EXPECT_EQ(find_target("registry.table_new")->traits(), 1u);
  EXPECT_EQ(find_target("registry.table_new")->handler(Stage::kRecord), handler<2>);

  struct {
    size_t struct_size;
    void* extension_start = nullptr;
    FARCALL_FFI_ByteSpan name = {"registry.table_old", 18};
    FARCALL_FFI_ByteSpan platform = {"cpu", 3};
    FARCALL_FFI_Handler* bundle[4] = {nullptr, handler<3>, nullptr, handler<1>};
    uint32_t traits = 1;
  } old;
  old.struct_size = offsetof(decltype(old), traits) + sizeof(old.traits);
  auto* args = reinterpret_cast<FARCALL_FFI_Handler_Register_Args*>(&old);
  EXPECT_EQ(ffi_api(3)->Handler_Register(args), nullptr);
  EXPECT_EQ(find_target("registry.table_old")->traits(), 1u);
  EXPECT_EQ(find_target("registry.table_old")->handler(Stage::kPrepare), handler<3>);
  EXPECT_FALSE(find_target("registry.table_old")->has_stage(Stage::kRecord));

  old.bundle[3] = handler<4>;
  EXPECT_EQ(testing::text_of(ffi_api(), ffi_api(3)->Handler_Register(args)),
            "ALREADY_EXISTS: registry: \"registry.table_old\" on platform \"cpu\" is registered "
            "already, with another execute handler. Choose another name.");
  old.struct_size = 40;
  EXPECT_EQ(testing::text_of(ffi_api(), ffi_api(3)->Handler_Register(args)),
            "INVALID_ARGUMENT: Handler_Register: the argument struct must have at least 84 bytes, "
            "got 40. The handler was not built with a header of this interface.");
}

}  // namespace
}  // namespace farcall
