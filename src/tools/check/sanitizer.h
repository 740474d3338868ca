// The runtime of AddressSanitizer, for handlers that were built with it. It has to be in the
// process from its start, so the command starts again with the runtime preloaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace farcall::tools::sanitizer {

// Whether this library is a runtime.
bool is_runtime(std::string_view library);

// Starts this command again with the runtime of a library, and does not return. Returns why it
// cannot: the runtime is not installed, or the command has started again already.
std::string restart_for(const std::string& library);
// In the command that was started again: processes that it starts do not get the runtime.
void forget_restart();

// Makes accesses by instrumented code errors, until it is allowed again. Does nothing without the
// runtime.
void forbid(std::span<const std::byte> bytes);
void allow(std::span<const std::byte> bytes);

// A wrong access, as the runtime reports it.
struct Report {
  uintptr_t address;
  bool is_write;
  size_t nbytes;
  const char* description;  // "heap-buffer-overflow"
  // Addresses inside the calls, innermost first. The stack of the runtime cannot be unwound.
  const void* calls[16];
  int num_calls;
};
// Calls `on_report` for the first wrong access; the runtime would end the process then.
void set_handler(void (*on_report)(const Report& report));

}  // namespace farcall::tools::sanitizer
