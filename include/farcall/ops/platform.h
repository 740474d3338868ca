// A function for each platform.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>
#include <farcall/trace/record.h>

namespace farcall::lax {

struct PlatformBranch {
  std::string platform;  // as parse_platform takes it: cpu, cuda, rocm, gpu (both of these), tpu
  FlatFunction function;
};

// The results of the function for the platform that the program is compiled for, or of `otherwise`,
// which may be empty. In a program that is being recorded all are recorded and must return the same
// types; those of other platforms are dropped when it is compiled, so that their targets need not
// be registered. Elsewhere only the chosen one is called. Raises UNIMPLEMENTED when there is no
// function for the platform.
FARCALL_API std::vector<Array> platform_dependent(std::span<const Array> operands,
                                                  std::span<const PlatformBranch> branches,
                                                  const FlatFunction& otherwise = {});

// The number of the first of these names that is the platform which the program is compiled for;
// how many there are when none is and there is a default.
FARCALL_API Array platform_index(std::span<const std::string> platforms, bool has_default);

}  // namespace farcall::lax
