// Records what a handler does besides reading and writing its operands: memory that it allocates,
// exceptions that it throws, threads that it starts. The command replaces malloc and related
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
void allocated(void* block, size_t nbytes);
void allocated_zeros(void* block, size_t nbytes);  // keeps the zeros
void freed(void* block);
void thrown(void* object, const std::type_info* type);
void thread_started();

// ---- for the checks ----
// Mark a call of a handler. Calls may nest and overlap on several threads.
void begin_call();
void end_call();
// Fills new blocks of a running handler with this byte; -1 leaves them as they are.
void set_fill(int byte);

// Assigns blocks that handlers allocate to this cycle; 0: blocks are not tracked.
void set_cycle(int cycle);
struct Leaks {
  std::vector<size_t> blocks, bytes;       // not freed, by cycle
  std::vector<runtime::StackFrame> stack;  // where one block of the last cycle was allocated
};
Leaks leaks(int num_cycles);

// Text of the last exception that this thread threw since begin_call; empty if none.
const std::string& last_exception();
// The stack of that throw.
std::vector<runtime::StackFrame> exception_stack();
void forget_exception();
uint64_t num_threads_started();

}  // namespace farcall::tools::heap
