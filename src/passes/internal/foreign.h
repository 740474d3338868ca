// What passes must know about foreign calls, to leave them and their operands as they are.
#pragma once

#include <vector>

#include <farcall/program/program.h>

namespace farcall {

// Whether the equation, or a program that it runs, calls foreign code.
bool runs_foreign_code(const Equation& equation);
bool holds_foreign_code(const Program& program);

// By variable: whether a foreign call reads it or a view of it, or a branch with a foreign call
// reads it. The allocation and the readers of such a value decide which copies the call needs. So
// passes must neither replace it nor give it new readers. All false without foreign calls.
std::vector<bool> values_of_calls(const Program& program);

}  // namespace farcall
