// Calls of programs inside programs: jit within another function.
#pragma once

#include <span>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/record.h>

namespace farcall {

// Applies the primitive `jit`, which runs `program`.
FARCALL_API std::vector<Array> call_program(const ProgramPtr& program,
                                            std::span<const Array> inputs);

}  // namespace farcall
