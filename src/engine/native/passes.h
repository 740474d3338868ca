// Passes of the native engine: functions from Program to Program.
#pragma once

#include <string>

#include <farcall/program/program.h>

namespace farcall::native {

// With the equations of called programs (jit, checkpoint, custom_jvp_call and the like) in place of
// the calls. The program itself where there are none.
// Where the program depends on the platform, or a branch on a number that is known, the choice is
// made. Raises UNIMPLEMENTED when there is none for this platform.
ProgramPtr inline_calls(const ProgramPtr& program, const std::string& platform = "cpu");

// Without the equations whose results nobody reads, but for those with effects; scans lose the
// results that nobody reads. Variables keep their numbers.
ProgramPtr remove_dead_code(const ProgramPtr& program);

}  // namespace farcall::native
