#include "ffi/internal/metadata.h"

#include <cstddef>
#include <exception>

#include "ffi/error_value.h"

namespace farcall::runtime {
namespace {

constexpr int kUnanswered = -1;

// Space for fields that later versions may add and require.
struct RoomyMetadata {
  FARCALL_FFI_Metadata known;
  std::byte unknown[256];
};

// Handlers of version 0.0 do not see the extension and take this for a call. They refuse it,
// because the table states another version than theirs. A handler that skips that check sees
// operand counts of -1, which match no signature and make loops over operands do nothing.
ErrorPointer ask(FARCALL_FFI_Handler* handler, const FARCALL_FFI_Api* api,
                 FARCALL_FFI_Metadata* metadata) {
  FARCALL_FFI_Metadata_Extension extension = {
      .extension_base = {.struct_size = sizeof(FARCALL_FFI_Metadata_Extension),
                         .type = FARCALL_FFI_Extension_Metadata,
                         .next = nullptr},
      .metadata = metadata};
  FARCALL_FFI_CallFrame frame = {};
  frame.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_CallFrame, attrs);
  frame.extension_start = &extension.extension_base;
  frame.api = api;
  frame.stage = FARCALL_FFI_ExecutionStage_EXECUTE;
  frame.args.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Args, args);
  frame.args.size = -1;
  frame.rets.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Rets, rets);
  frame.rets.size = -1;
  frame.attrs.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Attrs, attrs);
  frame.attrs.size = -1;
  try {
    return ErrorPointer(handler(&frame));
  } catch (const std::exception&) {
    return nullptr;  // a handler that ran as if called
  }
}

}  // namespace

HandlerMetadata query_metadata(FARCALL_FFI_Handler* handler, const FARCALL_FFI_Api* api) {
  ErrorPointer error;
  RoomyMetadata answer{};
  // The size of this version first. A handler that finds it too small is newer; asked again with
  // more space, it states its version.
  for (const size_t size : {sizeof(FARCALL_FFI_Metadata), sizeof(RoomyMetadata)}) {
    answer = {};
    answer.known.struct_size = size;
    answer.known.api_version = {FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Api_Version, minor_version),
                                nullptr, kUnanswered, kUnanswered};
    error = ask(handler, api, &answer.known);
    if (answer.known.api_version.major_version != kUnanswered || !error) break;
  }
  if (answer.known.api_version.major_version == kUnanswered) {
    using Reply = HandlerMetadata::Reply;
    return {.version = {}, .reply = error ? Reply::kError : Reply::kNothing};
  }
  HandlerMetadata metadata = {
      .version = {answer.known.api_version.major_version, answer.known.api_version.minor_version},
      .reply = HandlerMetadata::Reply::kVersion,
      .traits = answer.known.traits,
      .state_type_id = answer.known.state_type_id.type_id,
      .missing = std::nullopt};
  if (error) metadata.missing = error->message;
  return metadata;
}

}  // namespace farcall::runtime
