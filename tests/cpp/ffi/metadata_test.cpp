// The metadata query: the answers of handlers of all versions, and that it runs no user code.
#include "ffi/internal/metadata.h"

#include <cstring>

#include "testing.h"

namespace farcall {
namespace {

using testing::answers_metadata;
using testing::error_of;
using testing::fail;

int num_calls = 0;

TEST(Metadata, ReadsVersionAndTraits) {
  const auto metadata = runtime::query_metadata(+[](FARCALL_FFI_CallFrame* frame) {
    if (!answers_metadata(frame, 0, 3, 1)) ++num_calls;
    return static_cast<FARCALL_FFI_Error*>(nullptr);
  });
  EXPECT_EQ(metadata.version, (ApiVersion{0, 3}));
  EXPECT_EQ(metadata.traits, 1u);
  EXPECT_EQ(num_calls, 0);
}

// Handlers of interface 0.0 read the frame as a call; their own checks must reject it.
TEST(Metadata, AHandlerThatKnowsNoQuestionsSeesAFrameThatItCannotDecode) {
  static FARCALL_FFI_CallFrame seen;
  const auto metadata = runtime::query_metadata(+[](FARCALL_FFI_CallFrame* frame) {
    seen = *frame;
    return fail(frame, FARCALL_FFI_Error_Code_INVALID_ARGUMENT, "wrong version");
  });
  EXPECT_EQ(metadata.version, (ApiVersion{0, 0}));
  EXPECT_FALSE(metadata.missing);
  EXPECT_EQ(seen.args.size, -1);
  EXPECT_EQ(seen.rets.size, -1);
  EXPECT_EQ(seen.attrs.size, -1);
  EXPECT_EQ(seen.ctx, nullptr);
  EXPECT_NE(seen.api->api_version.minor_version, 0);
}

TEST(Metadata, SilenceAndExceptionsAreVersionZero) {
  EXPECT_EQ(runtime::query_metadata(+[](FARCALL_FFI_CallFrame*) {
              return static_cast<FARCALL_FFI_Error*>(nullptr);
            }).version,
            (ApiVersion{0, 0}));
  EXPECT_EQ(runtime::query_metadata(+[](FARCALL_FFI_CallFrame*) -> FARCALL_FFI_Error* {
              throw std::runtime_error("not ready");
            }).version,
            (ApiVersion{0, 0}));
}

// A later interface may need a larger answer struct than ours.
TEST(Metadata, AHandlerThatWantsMoreRoomIsAskedAgain) {
  const auto metadata = runtime::query_metadata(+[](FARCALL_FFI_CallFrame* frame) {
    const auto* extension =
        reinterpret_cast<FARCALL_FFI_Metadata_Extension*>(frame->extension_start);
    if (extension->metadata->struct_size < 100) {
      return fail(frame, FARCALL_FFI_Error_Code_INVALID_ARGUMENT, "too small");
    }
    std::memset(extension->metadata + 1, 0xff, 100 - sizeof(FARCALL_FFI_Metadata));
    answers_metadata(frame, 0, 9);
    return static_cast<FARCALL_FFI_Error*>(nullptr);
  });
  EXPECT_EQ(metadata.version, (ApiVersion{0, 9}));
}

FARCALL_FFI_Error* newer_minor(FARCALL_FFI_CallFrame* frame) {
  if (!answers_metadata(frame, 0, 6)) ++num_calls;
  return nullptr;
}
FARCALL_FFI_Error* newer_major(FARCALL_FFI_CallFrame* frame) {
  if (!answers_metadata(frame, 1, 0)) ++num_calls;
  return nullptr;
}
FARCALL_FFI_Error* ours(FARCALL_FFI_CallFrame* frame) {
  answers_metadata(frame);
  return nullptr;
}

TEST(Metadata, NewerHandlersRegisterAndAreRefusedWhenFound) {
  register_ffi_target("metadata.newer", newer_minor);
  EXPECT_EQ(error_of(ErrorCode::kFailedPrecondition, [] { find_target("metadata.newer"); }),
            "registry: \"metadata.newer\" on platform \"cpu\": its execute handler was built for "
            "version 0.6 of the FFI interface, but this runtime has 0.5. Build it with an older "
            "header, or use a newer farcall.");
  register_ffi_target("metadata.mixed", HandlerBundle{.initialize = newer_major, .execute = ours});
  EXPECT_EQ(
      error_of(ErrorCode::kFailedPrecondition, [] { find_target("metadata.mixed"); }),
      "registry: \"metadata.mixed\" on platform \"cpu\": its initialize handler was built for "
      "version 1.0 of the FFI interface, but this runtime has 0.5. Build it with an older "
      "header, or use a newer farcall.");
  const auto made = make_target("metadata.made", HandlerBundle{.execute = newer_minor});
  error_of(ErrorCode::kFailedPrecondition, [&] { ForeignCall({.target = made}); });
  EXPECT_EQ(num_calls, 0);
}

bool is_type_registered = false;
FARCALL_FFI_Error* unregistered_state(FARCALL_FFI_CallFrame* frame) {
  if (!answers_metadata(frame, 0, 5)) return nullptr;
  return is_type_registered
             ? nullptr
             : fail(frame, FARCALL_FFI_Error_Code_FAILED_PRECONDITION, "the type comes later");
}

TEST(Metadata, TypesMayComeAfterTargetsButBeforeCalls) {
  const auto target = make_target(
      "metadata.late", HandlerBundle{.instantiate = unregistered_state, .execute = ours});
  EXPECT_EQ(target->version(Stage::kInstantiate), (ApiVersion{0, 5}));
  EXPECT_EQ(error_of(ErrorCode::kFailedPrecondition, [&] { ForeignCall({.target = target}); }),
            "ffi_call(\"metadata.late\"): the type comes later. Register the type of the handler's "
            "state with register_ffi_type.");
  is_type_registered = true;
  ForeignCall call({.target = target});
}

TEST(Metadata, TraitsGivenAndStatedAreBothKept) {
  const auto target = make_target("metadata.traits",
                                  HandlerBundle{.execute =
                                                    +[](FARCALL_FFI_CallFrame* frame) {
                                                      answers_metadata(frame, 0, 5, 1);
                                                      return (FARCALL_FFI_Error*)nullptr;
                                                    }},
                                  "cpu", 4);
  EXPECT_EQ(target->traits(), 5u);
}

}  // namespace
}  // namespace farcall
