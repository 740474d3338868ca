// The runtimes of AddressSanitizer, ThreadSanitizer and UndefinedBehaviorSanitizer, for handlers
// that were built with them. A runtime has to be in the process from its start, so the command
// starts again with it preloaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/elf_file.h"

namespace farcall::tools::sanitizer {

// Whether this library is a runtime.
bool is_runtime(std::string_view library);

// Whether there is a runtime to preload for this sanitizer: "address", "thread", "memory" or
// "undefined".
bool can_preload(std::string_view sanitizer);
// Whether its runtime is in this process.
bool is_loaded(std::string_view sanitizer);

// Why a library with a sanitizer cannot be called by this process, and what to do; empty if it can.
std::string problem_of(const ElfFile& file);
// The sanitizers whose runtimes this process would need from its start to report for this library.
std::vector<std::string> missing_for(const ElfFile& file);

// Starts this command again with the runtimes of a library, and does not return. Returns why it
// cannot: a runtime is not installed, or the command has started again already.
std::string restart_for(const std::string& library, std::span<const std::string> sanitizers);
// In the command that was started again: processes that it starts do not get the runtime.
void forget_restart();

// Makes accesses by instrumented code errors, until it is allowed again. Does nothing without the
// runtime.
void forbid(std::span<const std::byte> bytes);
void allow(std::span<const std::byte> bytes);

// What a thread did before send(event) happens before what another one does after receive(event),
// for ThreadSanitizer, which does not see how this command synchronizes threads.
void send(const void* event);
void receive(const void* event);

enum class Kind : uint8_t { kNone, kAddress, kThread, kUndefined };

// What a runtime reports: a wrong access, one of the two accesses of a race, or undefined
// behaviour.
struct Report {
  Kind kind = Kind::kNone;
  uintptr_t address = 0;  // 0: undefined behaviour that is no access
  bool is_write = false;  // not known for undefined behaviour
  size_t nbytes = 0;
  const char* description = "";  // "heap-buffer-overflow", "data-race", "out-of-bounds-index"
  // Of undefined behaviour.
  const char* message = "";  // "index 8 out of bounds for type 'float [8]'"
  const char* file = "";     // empty if it is not known
  unsigned line = 0;
  // Addresses inside the calls, innermost first; none for undefined behaviour. The stack of the
  // other runtimes cannot be unwound.
  const void* calls[16] = {};
  int num_calls = 0;
};
// Calls `on_report`, which must end the process without more than a system call, for the first
// report.
void set_handler(void (*on_report)(const Report& report));

}  // namespace farcall::tools::sanitizer
