// Crashes of foreign code, in processes that run handlers for others.
#pragma once

#include <csignal>
#include <cstdint>
#include <string>

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
// The same frames of a stack that is known already: `count` addresses inside the calls, innermost
// first.
int foreign_stack_of(const void* const* addresses, int count, StackFrame* frames, int most);
// Loads what foreign_stack() needs.
void prepare_foreign_stack();

// Makes signal handlers of the calling thread run on a stack of their own, so that they can report
// a stack overflow.
void use_signal_stack();

// Plain data, too.
struct CrashReport {
  int32_t signal;  // 0: no crash
  int32_t num_frames;
  uint64_t address;  // of the faulting access, if there is one
  StackFrame frames[16];
};

// Calls `on_signal` for the signals of a crash, on a stack of its own in this thread.
void catch_crashes(void (*on_signal)(int signal, siginfo_t* info, void* context));
// Called by `on_signal`. As foreign_stack().
void write_crash(CrashReport& report, int signal, const siginfo_t* info);
// "signal 11 (Segmentation fault), at address 0x10, in" and a line for each frame, with demangled
// names.
std::string crash_text(const CrashReport& report);

}  // namespace farcall::runtime
