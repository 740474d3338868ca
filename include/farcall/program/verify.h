// Verifier: whether a Program keeps the rules that engines rely on.
#pragma once

#include <span>

#include <farcall/core/export.h>
#include <farcall/program/program.h>

namespace farcall {

// Raises INVALID_ARGUMENT naming the first equation that breaks a rule: a variable read before it
// is defined, or defined twice; an index out of range; operands that the primitive refuses; results
// of another number or type than it gives; effects that differ; a constant of another size; a call
// whose operands do not fit its program. Programs inside parameters are verified as well.
FARCALL_API void verify(const Program& program);

// For the type rules of primitives that run a program on their operands: raises INVALID_ARGUMENT
// unless the program takes operands of these types. Weak types do not count.
FARCALL_API void check_operands(const Program& program, std::span<const ShapeDtype> operands);

}  // namespace farcall
