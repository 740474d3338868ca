// The stack of foreign code at a crash, for processes that run handlers for others.
#pragma once

#include <cstdint>

namespace farcall::runtime {

// Plain data, so that it can be in memory shared by processes.
struct StackFrame {
  char library[240];       // the file
  char symbol[160];        // empty if the loader does not know it
  uint64_t offset;         // in the library
  uint64_t symbol_offset;  // in the symbol
};

// Writes at most `most` frames, innermost first, and returns their number: the frames outside this
// library, up to the first one inside it. May be called in a signal handler after
// prepare_foreign_stack(); as it is not async-signal-safe, an alarm should be set.
int foreign_stack(StackFrame* frames, int most);
// Loads what foreign_stack() needs.
void prepare_foreign_stack();

// Makes signal handlers of the calling thread run on a stack of their own, so that they can report
// a stack overflow.
void use_signal_stack();

}  // namespace farcall::runtime
