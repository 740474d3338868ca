// Frames that are not an ordinary call: the runtime's metadata query, a frame of another stage, a
// frame that is too short.
#pragma once

#include <cstdint>
#include <string_view>

#include <farcall/handler/detail/explain.h>
#include <farcall/handler/detail/signature.h>
#include <farcall/handler/detail/type_id.h>

namespace farcall::ffi::detail {

// Of a handler that creates state: registers the state's type with a runtime. Null for other
// handlers.
using StateType = ErrorOr<TypeId> (*)(const FARCALL_FFI_Api* api);

FARCALL_FFI_COLD inline FARCALL_FFI_Error* answer_metadata(const FARCALL_FFI_Api* api,
                                                           FARCALL_FFI_Metadata* metadata,
                                                           const HandlerDesc& handler,
                                                           StateType state) {
  metadata->api_version = {sizeof(FARCALL_FFI_Api_Version), nullptr, FARCALL_FFI_API_MAJOR,
                           spoken_version(api)};
  metadata->traits = handler.traits;
  // The field was added without a new struct_size, so the runtime's version shows whether it
  // exists.
  const bool has_state_type =
      metadata->struct_size >= sizeof(*metadata) || (api && api->api_version.minor_version >= 2);
  if (!has_state_type) return nullptr;
  metadata->state_type_id = {0};
  if (state == nullptr || api == nullptr) return nullptr;
  ErrorOr<TypeId> type_id = state(api);
  if (type_id.has_error()) {
    return named_error(api, type_id.error().code(), handler.name, type_id.error().message());
  }
  metadata->state_type_id = *type_id;
  return nullptr;
}

FARCALL_FFI_COLD inline std::string_view stage_name(int64_t stage) {
  constexpr std::string_view kNames[] = {"instantiate", "prepare", "initialize", "execute",
                                         "record"};
  return stage >= 0 && stage < 5 ? kNames[stage] : "unknown";
}

// Handles a frame that is not an ordinary call. Returns whether it is a call after all; if not,
// `result` is the handler's answer.
FARCALL_FFI_COLD inline bool admit(FARCALL_FFI_CallFrame* frame, const HandlerDesc& handler,
                                   StateType state, FARCALL_FFI_Error*& result) {
  constexpr size_t kNeeded = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_CallFrame, attrs);
  Text text;
  if (frame->struct_size < kNeeded) {
    text << "the call frame has " << static_cast<int64_t>(frame->struct_size)
         << " bytes, wanted at least " << static_cast<int64_t>(kNeeded);
    result = named_error(frame->api, ErrorCode::kInvalidArgument, handler.name, text.view());
    return false;
  }
  for (auto* extension = frame->extension_start; extension; extension = extension->next) {
    if (extension->type != FARCALL_FFI_Extension_Metadata) continue;
    auto* metadata = reinterpret_cast<FARCALL_FFI_Metadata_Extension*>(extension)->metadata;
    result = answer_metadata(frame->api, metadata, handler, state);
    return false;
  }
  if (static_cast<ExecutionStage>(frame->stage) != handler.stage) {
    text << "wanted stage " << stage_name(static_cast<int64_t>(handler.stage)) << ", got "
         << stage_name(frame->stage);
    result = named_error(frame->api, ErrorCode::kInvalidArgument, handler.name, text.view());
    return false;
  }
  return true;
}

}  // namespace farcall::ffi::detail
