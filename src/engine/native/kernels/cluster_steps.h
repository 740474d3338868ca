// What the planner of a cluster works on before memory is given out: steps between registers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/native/kernels/cluster.h"

namespace farcall::native {

inline constexpr size_t kNoStep = SIZE_MAX;

// Where a tile's part of a value is.
struct TileRegister {
  enum class Home : uint8_t { kBase, kConstant, kScratch };
  Home home = Home::kScratch;
  uint32_t index = 0;  // of the base or constant
  Extent extent = Extent::kFull;
  uint32_t width = 0;
  size_t made_by = kNoStep, last_read = kNoStep;  // steps
  std::optional<size_t> same_as;                  // the register whose memory it is
  uint32_t offset = 0;                            // kScratch
};

enum class TilePhase : uint8_t { kOnce, kPerThread, kPerTile };

// A step on registers.
struct TileDraft {
  TileStep::Kind kind = TileStep::Kind::kLoop;
  std::vector<size_t> inputs;
  size_t output = 0;
  Loop loop = nullptr;
  int64_t extra = 0;
  uint32_t index = 0;
  TilePhase phase = TilePhase::kPerTile;
  bool is_left_out = false;
};

}  // namespace farcall::native
