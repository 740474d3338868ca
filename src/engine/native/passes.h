// Passes of the native engine: functions from Program to Program.
#pragma once

#include <farcall/program/program.h>

namespace farcall::native {

// With the equations of called programs (jit, checkpoint, custom_jvp_call and the like) in place of
// the calls. The program itself where there are none.
ProgramPtr inline_calls(const ProgramPtr& program);

// Without the equations whose results nobody reads, but for those with effects. Variables keep
// their numbers.
ProgramPtr remove_dead_code(const ProgramPtr& program);

}  // namespace farcall::native
