// Asking a handler what it is, without running it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <farcall/abi.h>
#include <farcall/ffi/stage.h>

namespace farcall::runtime {

struct HandlerMetadata {
  ApiVersion version;
  FARCALL_FFI_Handler_Traits traits = 0;
  int64_t state_type_id = 0;
  // The handler knows its version but could not answer in full: the type of its state has no id
  // yet.
  std::optional<std::string> missing;
};

// Handlers of version 0.0 know no such question, and anything may be behind the pointer: the frame
// is one that no handler decodes (see the definition), and silence or an error reads as 0.0.
HandlerMetadata query_metadata(FARCALL_FFI_Handler* handler);

}  // namespace farcall::runtime
