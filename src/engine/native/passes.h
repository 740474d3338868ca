// Passes of the native engine: functions from Program to Program.
#pragma once

#include <farcall/program/program.h>

namespace farcall::native {

// Without the equations whose results nobody reads, but for those with effects. Variables keep
// their numbers.
ProgramPtr remove_dead_code(const ProgramPtr& program);

}  // namespace farcall::native
