// Programs as StableHLO text, which XLA's compilers read.
#pragma once

#include <string>
#include <string_view>

#include <farcall/core/export.h>
#include <farcall/program/program.h>

namespace farcall {

// A module whose function `main` computes the program on a platform. Foreign calls are custom calls
// of their targets. Keys of random numbers are ui64, tokens arrays without elements. Raises
// UNIMPLEMENTED, with the user's line, for what StableHLO has no operation for.
FARCALL_API std::string to_stablehlo(const ProgramPtr& program, std::string_view platform = "cpu");

}  // namespace farcall
