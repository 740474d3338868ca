// What passes share: the programs that loops and branches run, and programs made from others.
#pragma once

#include <functional>

#include <farcall/program/program.h>

namespace farcall {

using Pass = std::function<ProgramPtr(const ProgramPtr&)>;

// Whether the equation is a scan, while or cond.
bool has_regions(const Equation& equation);

// The parameters of a scan, while or cond with `pass` applied to the programs that they hold; the
// same ones if none changes.
ParamsPtr pass_regions(const Equation& equation, const Pass& pass);

// The program with `pass` applied to those that its loops and branches run; itself if none changes.
ProgramPtr pass_nested(ProgramPtr program, const Pass& pass);

// The program itself where nobody else holds it, else a copy.
std::shared_ptr<Program> to_change(ProgramPtr program);

// Removes equations, by number, and keeps the order of the others.
void erase_equations(Program& program, const std::vector<bool>& goes);

// A copy of everything but the equations.
Program without_equations(const Program& program);

}  // namespace farcall
