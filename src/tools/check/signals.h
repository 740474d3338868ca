// Reports why a process that runs a handler dies: the wrong access, the memory that it hit, and the
// stack.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ffi/internal/foreign_stack.h"
#include "tools/check/guarded_buffer.h"
#include "tools/check/sanitizer.h"

namespace farcall::tools::signals {

struct Region {
  uintptr_t begin, end;  // including the guards
  uintptr_t data;
  size_t nbytes;
  BufferName name;
};
void add_region(const Region& region);
void remove_region(uintptr_t begin);

enum class Access : uint8_t { kUnknown, kRead, kWrite };

// Lies in memory shared with the parent process.
struct Crash {
  bool is_set;
  bool is_exit;  // the handler ended the process
  bool is_copy;  // a process that the handler forked returned from the call
  bool is_kill;  // the handler sent `signal` to the process that started this one, or to all
  int signal;
  uint64_t address;
  Access access;
  bool has_region;
  bool is_former;  // the region was removed before
  BufferName name;
  int64_t offset;  // from the beginning of the data
  uint64_t nbytes;
  bool is_stack_overflow;
  bool has_no_address;        // the access was to an address that no memory can have
  sanitizer::Kind sanitizer;  // that reported it; kNone for a signal
  char what[64];              // the sanitizer's word for it, such as "heap-buffer-overflow"
  char message[240];          // of undefined behaviour, with the place
  int num_frames;
  runtime::StackFrame frames[16];
};

// Catches signals of this process, and reports of sanitizers: writes the first one to `crash`, then
// ends the process.
void install(Crash* crash);
// While this is set, an exit of the process is reported as the handler's.
void set_in_call(bool is_in_call);
// Ends this process, which the handler forked, and its parent.
[[noreturn]] void end_copy(int parent);
// Before a signal is sent to `process` (see kill): reports a call that would signal the process
// that started this one, or all processes, and ends this one.
void before_kill(int process, int signal);
// Whether a signal is ending this process.
bool is_ending();

}  // namespace farcall::tools::signals
