// What a handler does besides reading and writing its operands: the memory that it allocates, the
// exceptions that it throws, the threads that it starts. The command replaces malloc and its
// relatives (apps/farcall/interpose.cpp), which report here. Works from any thread.
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
void allocated_zeros(void* block, size_t nbytes);  // which stay as they are
void freed(void* block);
void thrown(void* object, const std::type_info* type);
void thread_started();

// ---- for the checks ----
// A handler runs; these nest, over all threads.
void begin_call();
void end_call();
// New blocks of a running handler are filled with this byte; -1: left as they are.
void set_fill(int byte);

// Blocks that handlers allocate belong to the cycle of this number; 0: they are not followed.
void set_cycle(int cycle);
struct Leaks {
  std::vector<size_t> blocks, bytes;       // still there, by cycle
  std::vector<runtime::StackFrame> stack;  // that allocated one of the last cycle
};
Leaks leaks(int num_cycles);

// Text of the last exception that this thread threw since begin_call; empty for none.
const std::string& last_exception();
// The calls that led to it.
std::vector<runtime::StackFrame> exception_stack();
void forget_exception();
uint64_t num_threads_started();

}  // namespace farcall::tools::heap
