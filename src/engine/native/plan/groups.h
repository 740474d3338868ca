// Groups: independent equations that each run for long on one thread run at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <farcall/program/program.h>

namespace farcall::native {

// Equations of a program, one after the other, that run at the same time.
struct EquationGroup {
  size_t begin = 0, end = 0;
};

struct GroupedProgram {
  ProgramPtr program;
  std::vector<EquationGroup> groups;  // in order, of two equations or more
};

// Whether an equation runs for long on one thread. One that divides its work over threads itself
// does not: it would gain nothing.
using RunsLong = bool (*)(const Program& program, const Equation& equation);
bool runs_long(const Program& program, const Equation& equation);

// Moves independent equations that run long next to each other, at most `most` to a group, or as
// many as there are threads if that is 0. Foreign calls (except those of farcall's linear algebra),
// effects and operations on several devices keep their places, and no equation moves across them.
// Equations are grouped only if the values that are live at the same time then take at most a
// quarter more memory than those of the program need anyway, or a few megabytes. Returns the
// program itself if there are no groups.
GroupedProgram group_equations(ProgramPtr program, RunsLong runs_long, size_t most = 0);

}  // namespace farcall::native
