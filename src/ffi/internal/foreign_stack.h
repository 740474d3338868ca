// The calls of foreign libraries that lead to a crash, for processes that run handlers on behalf of
// others.
#pragma once

#include <cstdint>

namespace farcall::runtime {

// Plain data, so that it can lie in memory that processes share.
struct StackFrame {
  char library[240];       // the file
  char symbol[160];        // empty where the loader knows none
  uint64_t offset;         // in the library
  uint64_t symbol_offset;  // in the symbol
};

// Fills in at most `most` frames, innermost first, from outside of this library down to the first
// call from it; gives their number. May be called in the handler of a signal after
// prepare_foreign_stack: the process is broken then, and should have an alarm set.
int foreign_stack(StackFrame* frames, int most);
// Loads what foreign_stack needs.
void prepare_foreign_stack();

// Handlers of signals run on a stack of their own on the calling thread, so that they can report
// that the usual one has overflowed.
void use_signal_stack();

}  // namespace farcall::runtime
