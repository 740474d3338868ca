// The lowering as engines use it: equations without a StableHLO operation become relays, and large
// constants become arguments.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/core/storage.h>
#include <farcall/program/mesh_engine.h>
#include <farcall/program/program.h>

namespace farcall::stablehlo {

// The custom call by which a program asks its engine to run one equation. The attribute `id` is the
// relay's number. The first operand is the number of the run, a ui64. If the equation has effects,
// that number is also the last result, which keeps equations with effects in order.
inline constexpr const char* kRelayTarget = "farcall.relay";

// How a plugin calls the function of an equation by itself: a target of its own registry. A
// callback is such a target with the attribute `id`; in text that no engine runs, it has the name
// of the function instead. If it has effects, the number of the run is its last operand, which it
// returns as its last result without a copy.
struct DirectCall {
  std::string target;
  std::optional<int64_t> id = {};  // of a callback
};

// Where a relay is in a program for several devices.
enum class RelayPlace {
  kOnEachDevice,  // in a shard_map: each device requests its own part
  kOnAll,         // elsewhere: all devices request the same value, computed once
};

struct LowerOptions {
  // Returns the number of a relay that runs this equation of this program. Empty: no relays.
  std::function<int64_t(const Program& program, const Equation& equation, RelayPlace place)> relay;
  // Whether relays also run the operations that XLA computes with few digits.
  bool relays_inexact = true;
  // Returns how the plugin itself calls the function of this equation; null: it does not. Empty: it
  // calls none, except those that no relay can run.
  std::function<std::optional<DirectCall>(const Program& program, const Equation& equation)>
      direct = {};
  // Returns the number of a relay that passes on a loop's condition, or false if the run has
  // failed: the loop may wait for what a failed relay would have computed. Empty: no guards.
  std::function<int64_t(RelayPlace place)> guard;
  // If set, the program runs on all devices of this mesh (Shardy's dialect), else on one. A
  // shard_map over axes of this mesh becomes a computation of each device; the plugin partitions
  // the rest.
  const MeshLayout* layout = nullptr;
  // For a program on one device: inputs whose memory results may use. Empty: none.
  std::vector<bool> donated = {};
  // The platform whose functions platform_dependent runs inside of shard_map.
  std::string platform = {};
  // Larger constants, in bytes, become arguments.
  size_t max_inline_bytes = SIZE_MAX;
};

struct Module {
  std::string text;
  // Arguments after those of the program: the constants, then the number of the run if takes_run.
  std::vector<std::pair<ShapeDtype, Storage>> constants;
  bool takes_run = false;
};

// Inlines calls, resolves choices that depend on the platform, and removes dead code.
ProgramPtr prepared(ProgramPtr program, std::string_view platform);

// `program` must be the result of prepared(). Raises UNIMPLEMENTED.
Module lower(const Program& program, const LowerOptions& options);

}  // namespace farcall::stablehlo
