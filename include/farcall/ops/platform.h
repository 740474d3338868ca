// Functions that depend on the platform.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>
#include <farcall/trace/record.h>

namespace farcall::lax {

struct PlatformBranch {
  std::string platform;  // as parse_platform takes it: cpu, cuda, rocm, gpu (cuda and rocm), tpu
  FlatFunction function;
};

// Returns the results of the function for the platform for which the program is compiled, or of
// `otherwise`, which may be empty. While a program is recorded, all functions are recorded and must
// return the same types; compilation drops those for other platforms, so their targets need not be
// registered. In eager mode only the chosen function is called. Raises UNIMPLEMENTED if there is no
// function for the platform.
FARCALL_API std::vector<Array> platform_dependent(std::span<const Array> operands,
                                                  std::span<const PlatformBranch> branches,
                                                  const FlatFunction& otherwise = {});

// The index of the first name that matches the platform for which the program is compiled. If none
// matches and there is a default, the number of names.
FARCALL_API Array platform_index(std::span<const std::string> platforms, bool has_default);

}  // namespace farcall::lax
