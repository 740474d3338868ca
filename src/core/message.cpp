#include <farcall/core/message.h>

#include <atomic>

namespace farcall {
namespace {

std::atomic<MessageSink> installed_sink{nullptr};

}  // namespace

void set_message_sink(MessageSink sink) { installed_sink.store(sink, std::memory_order_release); }

void send_message(MessageKind kind, std::string_view text) {
  if (const MessageSink sink = installed_sink.load(std::memory_order_acquire)) sink(kind, text);
}

}  // namespace farcall
