// Verifier: checks the rules for programs that engines rely on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <farcall/core/export.h>
#include <farcall/program/program.h>

namespace farcall {

// Raises INVALID_ARGUMENT, naming the first equation that breaks a rule: a variable that is read
// before it is defined, or defined twice; an index out of range; invalid operands; results whose
// number or types are not those of the primitive; effects that are not those of the primitive; a
// constant of the wrong size. Nested programs are verified as well.
FARCALL_API void verify(const Program& program);

// For the type rules of primitives that run a program on their operands: raises INVALID_ARGUMENT
// unless the program takes operands of these types. Ignores weak types.
FARCALL_API void check_operands(const Program& program, std::span<const ShapeDtype> operands);
// Raises INVALID_ARGUMENT unless the first `num_consts` operands can be constants.
FARCALL_API void check_num_consts(int64_t num_consts, size_t num_operands);

}  // namespace farcall
