#include "ffi/internal/metadata.h"

#include <cstddef>
#include <exception>

#include "ffi/error_value.h"

namespace farcall::runtime {
namespace {

constexpr int kUnanswered = -1;

// Room for fields that versions after ours may add and require.
struct RoomyMetadata {
  FARCALL_FFI_Metadata known;
  std::byte unknown[256];
};

// Handlers of version 0.0 do not see the question and take this for a call. They refuse it, because
// the table states another version than theirs; should one not look, the counts of -1 match no
// signature, and a loop over operands does nothing.
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
    return nullptr;  // it ran as if called
  }
}

}  // namespace

HandlerMetadata query_metadata(FARCALL_FFI_Handler* handler, const FARCALL_FFI_Api* api) {
  ErrorPointer error;
  RoomyMetadata answer{};
  // First the size that we know. A handler that finds it too small is newer than we are; asked
  // again with more room, it says so.
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
