// Programs as StableHLO text, the input of XLA's compilers.
#pragma once

#include <string>
#include <string_view>

#include <farcall/core/export.h>
#include <farcall/program/program.h>

namespace farcall {

// A module whose function `main` computes the program on a platform. A foreign call becomes a
// custom call of its target. Random keys become ui64, tokens arrays without elements. Raises
// UNIMPLEMENTED, with the user's line, for operations that StableHLO lacks.
FARCALL_API std::string to_stablehlo(const ProgramPtr& program, std::string_view platform = "cpu");

}  // namespace farcall
