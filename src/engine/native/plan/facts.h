// Facts about a finished plan, for reports and for running it.
#pragma once

#include <functional>
#include <vector>

#include <farcall/program/engine.h>

#include "engine/native/plan.h"

namespace farcall::native {

// Visit the program of the plan and those of its regions, and the executables that its equations
// run.
void visit_programs(const Plan& plan, const std::function<void(const ProgramPtr&)>& visit);
void for_each_nested(const Plan& plan, const std::function<void(const Executable&)>& visit);

// The operations of clusters that have machine code, which is made now.
int64_t coded_operations(const Plan& plan);
// Append the loops in program order, and add the memory for intermediate values, constants and
// machine code.
void add_loops(const Plan& plan, std::vector<LoopReport>& loops);
void add_memory(const Plan& plan, MemoryUse& use);

// Whether a run is too short to release the interpreter lock. Callbacks release it themselves, so
// only the work between calls counts.
bool runs_briefly(const Plan& plan);
// Whether the plan computes each output into memory of its own.
bool has_own_outputs(const Plan& plan);

}  // namespace farcall::native
