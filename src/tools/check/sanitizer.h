// The runtimes of AddressSanitizer and ThreadSanitizer, for handlers that were built with one. A
// runtime has to be in the process from its start, so the command starts again with it preloaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace farcall::tools::sanitizer {

// Whether this library is a runtime.
bool is_runtime(std::string_view library);

// Whether there is a runtime to preload for this sanitizer, "address", "thread" or "memory".
bool can_preload(std::string_view sanitizer);
// Whether its runtime is in this process.
bool is_loaded(std::string_view sanitizer);

// Starts this command again with the runtime of a library, and does not return. Returns why it
// cannot: the runtime is not installed, or the command has started again already.
std::string restart_for(const std::string& library, std::string_view sanitizer);
// In the command that was started again: processes that it starts do not get the runtime.
void forget_restart();

// Makes accesses by instrumented code errors, until it is allowed again. Does nothing without the
// runtime.
void forbid(std::span<const std::byte> bytes);
void allow(std::span<const std::byte> bytes);

// What a thread did before send(event) happens before what another one does after receive(event),
// for ThreadSanitizer, which does not see how this command synchronises threads.
void send(const void* event);
void receive(const void* event);

// A wrong access, as the runtime reports it; of a race, one of the two accesses.
struct Report {
  uintptr_t address;
  bool is_write;
  size_t nbytes;
  const char* description;  // "heap-buffer-overflow", "data-race"
  // Addresses inside the calls, innermost first. The stack of the runtime cannot be unwound.
  const void* calls[16];
  int num_calls;
};
// Calls `on_report`, which must end the process without more than a system call, for the first
// wrong access.
void set_handler(void (*on_report)(const Report& report));

}  // namespace farcall::tools::sanitizer
