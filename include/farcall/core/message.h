// Warnings and logs. The library prints nothing; a front end shows these messages.
#pragma once

#include <cstdint>
#include <string_view>

#include <farcall/core/export.h>

namespace farcall {

enum class MessageKind : uint8_t {
  kWarning,  // something legal that is probably a mistake; the text names a flag or function
  kLog,      // a report that a flag asked for
};

// Called on the thread that sends the message. An exception it throws ends the current operation.
using MessageSink = void (*)(MessageKind kind, std::string_view text);
// Null, the default, drops messages.
FARCALL_API void set_message_sink(MessageSink sink);
FARCALL_API void send_message(MessageKind kind, std::string_view text);

}  // namespace farcall
