// Queries what a handler is, without running it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <farcall/abi.h>
#include <farcall/ffi/stage.h>

namespace farcall::runtime {

struct HandlerMetadata {
  // How the function reacted to the query. A function that is not a handler may do nothing at all.
  enum class Reply : uint8_t { kVersion, kError, kNothing };

  ApiVersion version;
  Reply reply = Reply::kNothing;
  FARCALL_FFI_Handler_Traits traits = 0;
  int64_t state_type_id = 0;
  // Why a handler that knows its version did not answer in full: the type of its state has no id
  // yet.
  std::optional<std::string> missing;
};

// Handlers of version 0.0 do not know this query, and the pointer may be any function. So the frame
// is one that no handler decodes (see the definition), and an error or no reaction means version
// 0.0. The frame carries the table `api`.
HandlerMetadata query_metadata(FARCALL_FFI_Handler* handler,
                               const FARCALL_FFI_Api* api = ffi_api());

}  // namespace farcall::runtime
