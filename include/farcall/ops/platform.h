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
  std::string platform;  // cpu, cuda, rocm, gpu (both of these), tpu; in any case
  FlatFunction function;
};

// The results of the function for the platform that the program is compiled for, or of `otherwise`,
// which may be empty. All are recorded and must return the same types; those of other platforms are
// dropped when the program is compiled, so that their targets need not be registered. Compiling
// raises UNIMPLEMENTED when there is no function for the platform.
FARCALL_API std::vector<Array> platform_dependent(std::span<const Array> operands,
                                                  std::span<const PlatformBranch> branches,
                                                  const FlatFunction& otherwise = {});

}  // namespace farcall::lax
