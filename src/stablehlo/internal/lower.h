// The lowering as engines use it: what has no operation in StableHLO is left to a relay, and large
// constants become arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/core/storage.h>
#include <farcall/program/mesh_engine.h>
#include <farcall/program/program.h>

namespace farcall::stablehlo {

// The custom call by which a program asks its engine to run one equation. Its attribute `id` is the
// relay's number; its first operand is the number of the run, a ui64, which it gives back behind
// its results if the equation has effects, so that equations with effects keep their order.
inline constexpr const char* kRelayTarget = "farcall.relay";

// Where a relay stands in a program for several devices.
enum class RelayPlace {
  kOnEachDevice,  // in a shard_map: each device asks for its own part
  kOnAll,         // elsewhere: all devices ask for the same whole, which is to be computed once
};

struct LowerOptions {
  // The number of a relay that runs this equation of this program. Left out: there are no relays.
  std::function<int64_t(const Program& program, const Equation& equation, RelayPlace place)> relay;
  // The number of a relay that takes the condition of a loop, and gives it back unless the run has
  // failed: a loop may wait for what a relay that failed would have computed. Left out: none.
  std::function<int64_t(RelayPlace place)> guard;
  // The program runs on all devices of a mesh (Shardy's dialect); null: on one. shard_map over axes
  // of this mesh becomes a computation of each device, and all else is cut by the plugin.
  const MeshLayout* layout = nullptr;
  // Inputs whose memory may be used for results, of a program on one device; empty: none.
  std::vector<bool> donated = {};
  // Whose functions platform_dependent runs inside of shard_map.
  std::string platform = {};
  // Constants of more bytes become arguments.
  size_t max_inline_bytes = SIZE_MAX;
};

struct Module {
  std::string text;
  // Arguments behind those of the program: the constants, then the number of the run if needed.
  std::vector<std::pair<ShapeDtype, Storage>> constants;
  bool takes_run = false;
};

// The program with its calls inlined, what the platform chooses chosen, and no dead code.
ProgramPtr prepared(ProgramPtr program, std::string_view platform);

// `program` is prepared. Raises UNIMPLEMENTED.
Module lower(const Program& program, const LowerOptions& options);

}  // namespace farcall::stablehlo
