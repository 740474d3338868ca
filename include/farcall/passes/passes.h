// Passes: functions from Program to Program that keep its results, bit by bit, and its effects.
// They know of no engine; an engine chooses which it runs and in which order.
//
// Each treats the programs inside loops and branches too, and gives the program itself where there
// is nothing to do. Foreign calls and callbacks run as often as before and in the same order,
// unless nobody reads the results of one without effects, and what they read stays in memory of its
// own, so that what an engine reports of their copies does not change.
//
// A program that nobody but the argument holds is changed in place.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/storage.h>
#include <farcall/program/program.h>

namespace farcall {

// The equations of called programs (jit, checkpoint, custom_jvp_call and the like) in place of the
// calls. The operands of a checkpoint that is to be kept apart from equal equations go through an
// optimization_barrier.
FARCALL_API ProgramPtr inline_calls(ProgramPtr program);

// The choices that depend on the platform, and branches on a number that is known, are made. Raises
// UNIMPLEMENTED, with the user's line, where there is no function for this platform.
FARCALL_API ProgramPtr choose_platform(ProgramPtr program, std::string_view platform);

// Equations whose results nobody reads go, but for those with effects, and so do constants; scans
// lose the results that nobody reads. Variables keep their numbers.
FARCALL_API ProgramPtr remove_dead_code(ProgramPtr program);

// Of equal equations on equal operands, and of equal constants, the first one stays. Foreign calls
// are never merged, and results of the program keep memory of their own.
FARCALL_API ProgramPtr common_subexpressions(ProgramPtr program);

// Runs a program without inputs, which holds no foreign calls.
using KnownProgramEvaluator = std::function<std::vector<Storage>(const ProgramPtr& program)>;

// Equations on small known operands are run, once for all, in one program for `evaluate`: scalars
// become literals, other results constants. Equations that run programs are left as they are.
FARCALL_API ProgramPtr fold_constants(ProgramPtr program, const KnownProgramEvaluator& evaluate);

// Operations that do nothing go, and views of views become one view. Only what leaves every bit of
// every result as it is, NaNs included.
FARCALL_API ProgramPtr simplify(ProgramPtr program);

// Operands in place of the results of optimization_barrier: for engines whose later steps move
// nothing.
FARCALL_API ProgramPtr remove_barriers(ProgramPtr program);

}  // namespace farcall
