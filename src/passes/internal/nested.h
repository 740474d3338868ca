// Shared by the passes: the programs of loops and branches, and changed copies of programs.
#pragma once

#include <functional>

#include <farcall/program/program.h>

namespace farcall {

using Pass = std::function<ProgramPtr(const ProgramPtr&)>;

// Whether the equation is a scan, while or cond.
bool has_regions(const Equation& equation);

// The parameters of a scan, while or cond with `pass` applied to their programs; unchanged if no
// program changes.
ParamsPtr pass_regions(const Equation& equation, const Pass& pass);

// Applies `pass` to the programs that the loops and branches of `program` run. Returns `program`
// itself if none changes.
ProgramPtr pass_nested(ProgramPtr program, const Pass& pass);

// The program itself if the argument is the only reference to it, else a copy.
std::shared_ptr<Program> to_change(ProgramPtr program);

// Removes the equations whose flag is set; the others keep their order.
void erase_equations(Program& program, const std::vector<bool>& goes);

// A copy without the equations.
Program without_equations(const Program& program);

}  // namespace farcall
