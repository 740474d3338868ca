// Asking a handler what it is, without running it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <farcall/abi.h>
#include <farcall/ffi/stage.h>

namespace farcall::runtime {

struct HandlerMetadata {
  // How the function took the question: what is no handler may do nothing at all.
  enum class Reply : uint8_t { kVersion, kError, kNothing };

  ApiVersion version;
  Reply reply = Reply::kNothing;
  FARCALL_FFI_Handler_Traits traits = 0;
  int64_t state_type_id = 0;
  // The handler knows its version but could not answer in full: the type of its state has no id
  // yet.
  std::optional<std::string> missing;
};

// Handlers of version 0.0 know no such question, and anything may be behind the pointer: the frame
// is one that no handler decodes (see the definition), and silence or an error reads as 0.0. The
// question comes from a runtime of the table's version.
HandlerMetadata query_metadata(FARCALL_FFI_Handler* handler,
                               const FARCALL_FFI_Api* api = ffi_api());

}  // namespace farcall::runtime
