#include <farcall/core/message.h>

#include <atomic>

namespace farcall {
namespace {

std::atomic<MessageSink> installed{nullptr};

}  // namespace

void set_message_sink(MessageSink sink) { installed.store(sink, std::memory_order_release); }

void send_message(MessageKind kind, std::string_view text) {
  if (const MessageSink sink = installed.load(std::memory_order_acquire)) sink(kind, text);
}

}  // namespace farcall
