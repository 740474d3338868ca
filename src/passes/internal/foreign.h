// What passes must know of foreign calls, to leave them and what they read as they are.
#pragma once

#include <vector>

#include <farcall/program/program.h>

namespace farcall {

// Whether the equation, or one of a program that it runs, calls foreign code.
bool runs_foreign_code(const Equation& equation);
bool holds_foreign_code(const Program& program);

// By variable: whether a foreign call, or a branch that makes one, reads it or a view of it. Where
// such a value lies, and who else reads it, decides which copies the call needs, so that passes
// neither replace it nor make others read it. All false without foreign calls.
std::vector<bool> values_of_calls(const Program& program);

}  // namespace farcall
