// What a process that runs a handler leaves behind when it dies: which access was wrong, whose
// memory it hit, and the stack.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ffi/internal/foreign_stack.h"
#include "tools/check/guarded_buffer.h"

namespace farcall::tools::signals {

struct Region {
  uintptr_t begin, end;  // with the guards
  uintptr_t data;
  size_t nbytes;
  BufferName name;
};
void add_region(const Region& region);
void remove_region(uintptr_t begin);

enum class Access : uint8_t { kUnknown, kRead, kWrite };

// In memory that is shared with the parent.
struct Crash {
  bool is_set;
  bool is_exit;  // the handler ended the process
  int signal;
  uint64_t address;
  Access access;
  bool has_region;
  BufferName name;
  int64_t offset;  // from the beginning of the data
  uint64_t nbytes;
  bool is_stack_overflow;
  int num_frames;
  runtime::StackFrame frames[16];
};

// Catches the signals of this process; the first is written to `crash`, then the process ends.
void install(Crash* crash);
// The handler must not end the process while this is set.
void set_in_call(bool is_in_call);

}  // namespace farcall::tools::signals
