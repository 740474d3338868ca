// Passes: functions from Program to Program that keep its results, bit by bit, and its effects.
// They do not depend on an engine; an engine chooses its passes and their order.
//
// Each pass also handles the programs inside loops and branches, and returns the program itself if
// there is nothing to do. Foreign calls and callbacks run as often as before and in the same order,
// except that calls without effects may be removed if nothing reads their results. Their operands
// keep memory of their own, so that the copies that an engine reports for them do not change.
//
// If the argument is the only reference to a program, the program is changed in place.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/core/storage.h>
#include <farcall/program/program.h>

namespace farcall {

// Replaces calls of programs (jit, checkpoint, custom_jvp_call and the like) by the called
// equations. The operands of a checkpoint with prevent_cse pass through an optimization_barrier.
FARCALL_API ProgramPtr inline_calls(ProgramPtr program);

// Makes the choices that depend on the platform, and replaces a cond whose index is known by its
// branch. Raises UNIMPLEMENTED, with the user's line, if there is no function for this platform.
FARCALL_API ProgramPtr choose_platform(ProgramPtr program, std::string_view platform);

// Removes equations without effects whose results nothing reads, unread constants, and unread
// results of scans. Variables keep their numbers.
FARCALL_API ProgramPtr remove_dead_code(ProgramPtr program);

// Merges equal equations on equal operands, and equal constants, into the first one. Foreign calls
// are never merged, and results of the program keep memory of their own.
FARCALL_API ProgramPtr common_subexpressions(ProgramPtr program);

// Runs a program that has neither inputs nor foreign calls.
using KnownProgramEvaluator = std::function<std::vector<Storage>(const ProgramPtr& program)>;

// Runs equations on small known operands at compile time, in one program given to `evaluate`.
// Scalars become literals, other results constants. Equations that run programs are not folded.
FARCALL_API ProgramPtr fold_constants(ProgramPtr program, const KnownProgramEvaluator& evaluate);

// Removes operations that do nothing, and combines views of views. Every bit of every result stays
// the same, NaNs included.
FARCALL_API ProgramPtr simplify(ProgramPtr program);

// Replaces the results of each optimization_barrier by its operands, for engines whose later steps
// reorder nothing.
FARCALL_API ProgramPtr remove_barriers(ProgramPtr program);

}  // namespace farcall
