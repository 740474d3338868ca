// Records what a handler does besides reading and writing its operands: memory that it allocates,
// exceptions that it throws, threads that it starts. The command replaces malloc, clocks and other
// functions (apps/farcall/interpose.cpp), which report here. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <typeinfo>
#include <vector>

#include "tools/check/signals.h"

namespace farcall::tools::heap {

// ---- for the replaced functions ----
// The bytes to allocate in addition, for a red zone behind the block; may be 0.
size_t zone_bytes();
// `usable` is the size of the whole block.
void allocated(void* block, size_t nbytes, size_t usable);
void allocated_zeros(void* block, size_t nbytes);  // keeps the zeros
// The block is about to be freed or resized.
void freed(void* block, size_t usable);
// Fills a block that a handler frees, and keeps it for some time, so that what reads it sees the
// filling. Returns the block to free now; null: none. Aborts if the block is kept already.
void* keep_freed(void* block, size_t usable);
// What clocks that tell the date have to add, in seconds.
int64_t clock_shift();
void thrown(void* object, const std::type_info* type);
void thread_started();

// ---- for the checks ----
// Mark a call of a handler. Calls may nest and overlap on several threads.
void begin_call();
void end_call();
// Fills new blocks of a running handler, and blocks that it frees, with this byte; -1 leaves them
// as they are.
void set_fill(int byte);
// Sets the date back for running handlers. Waits until a date that is past end at once.
void set_clock_back(bool is_back);

// Assigns blocks that handlers allocate to this cycle; 0: blocks are not tracked.
void set_cycle(int cycle);
struct Leaks {
  std::vector<size_t> blocks, bytes;       // not freed, by cycle
  std::vector<runtime::StackFrame> stack;  // where one block of the last cycle was allocated
};
Leaks leaks(int num_cycles);

// The last exception that this thread threw since forget_exception().
struct Exception {
  std::string type;  // empty if there was none
  std::string text;  // may be empty
  bool is_standard = false;
};
const Exception& last_exception();
// The stack of that throw.
std::vector<runtime::StackFrame> exception_stack();
void forget_exception();
uint64_t num_threads_started();

}  // namespace farcall::tools::heap
