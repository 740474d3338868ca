// What the library has to say besides results and errors: it prints nothing, a front shows it.
#pragma once

#include <cstdint>
#include <string_view>

#include <farcall/core/export.h>

namespace farcall {

enum class MessageKind : uint8_t {
  kWarning,  // of something that is allowed and probably a mistake; a flag or function is named
  kLog,      // of what was done, where a flag asks for it
};

// Called on the thread that has something to say. What it throws ends the operation under way.
using MessageSink = void (*)(MessageKind kind, std::string_view text);
// Null, the default: messages are dropped.
FARCALL_API void set_message_sink(MessageSink sink);
FARCALL_API void send_message(MessageKind kind, std::string_view text);

}  // namespace farcall
