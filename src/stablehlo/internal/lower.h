// The lowering as engines use it: what has no operation in StableHLO is left to a relay, and large
// constants become arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <farcall/core/storage.h>
#include <farcall/program/program.h>

namespace farcall::stablehlo {

// The custom call by which a program asks its engine to run one equation. Its attribute `id` is the
// relay's number; its first operand is the number of the run, a ui64, which it gives back behind
// its results if the equation has effects, so that equations with effects keep their order.
inline constexpr const char* kRelayTarget = "farcall.relay";

struct LowerOptions {
  // The number of a relay that runs this equation of this program. Left out: there are no relays.
  std::function<int64_t(const Program& program, const Equation& equation)> relay;
  // Constants of more bytes become arguments.
  size_t max_inline_bytes = SIZE_MAX;
};

struct Module {
  std::string text;
  // Arguments behind those of the program: the constants, then the number of the run if needed.
  std::vector<std::pair<ShapeDtype, Storage>> constants;
  bool takes_run = false;
};

// `program` holds no calls and no choices of platform any more. Raises UNIMPLEMENTED.
Module lower(const Program& program, const LowerOptions& options);

}  // namespace farcall::stablehlo
