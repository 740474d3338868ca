// The plan of a cluster: a list of steps, each one loop over a tile of elements that stays in the
// cache, and where each reads and writes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <farcall/core/storage.h>
#include <farcall/program/program.h>

#include "engine/native/cluster_domain.h"
#include "engine/native/kernels/elementwise.h"
#include "engine/native/kernels/reduce.h"
#include "engine/native/kernels/tile_load.h"

namespace farcall::native {

// Memory of a tile: an offset from a base. Bases: the thread's memory, the constants, the scalars
// that are computed once in a run, then those of ClusterPlan::bases.
struct TileAddress {
  static constexpr uint32_t kThread = 0, kConstants = 1, kScalars = 2, kOperands = 3;
  uint32_t base = kThread;
  uint32_t offset = 0;
};

struct TileStep {
  enum class Kind : uint8_t {
    kLoop,
    kConvert,
    kFill,           // one element, repeated
    kRepeatRows,     // the element of each row, repeated along it
    kRepeatColumns,  // a row, repeated for all
    kReduce,
    kStream,  // a copy of a tile of a large result
    kLoad,    // a tile of a strided view
    kCount,   // numbers of an iota
  };
  Kind kind = Kind::kLoop;
  Extent extent = Extent::kFull;  // of what it writes
  uint32_t width = 0;             // of an element that is repeated
  uint32_t index = 0;             // of the conversion, reduction, view or iota
  TileAddress inputs[kMaxElementwiseInputs];
  TileAddress output;
  Loop loop = nullptr;
  int64_t extra = 0;
};

struct ClusterPlan {
  // A tile is `tile_rows` whole rows, or, where rows are cut into more parts than one, a part of a
  // row.
  int64_t rows = 1, columns = 1;
  int64_t tile_rows = 1, tile_columns = 1, parts = 1;
  int64_t num_tiles = 0;

  std::vector<TileStep> once;        // scalars, before anything else
  std::vector<TileStep> per_thread;  // what is the same for all tiles
  std::vector<TileStep> per_tile;
  std::vector<Conversion> conversions;
  struct Reduction {
    Kernel whole, last;  // of tile_rows rows, and of those of the last tile
  };
  std::vector<Reduction> reductions;

  // Of columns. Tiles are computed as its kernel reads them, into memory of the thread.
  struct ColumnReduction {
    native::ColumnReduction kernel;
    uint32_t width = 0;        // of an element that it reads
    uint32_t output = 0;       // operand
    int64_t rows_at_once = 0;  // see ColumnReduction::run
    size_t rows_offset = 0;    // in the memory of the thread
  };
  std::optional<ColumnReduction> column_reduction;

  // The operand that stands for the rows to be reduced.
  static constexpr uint32_t kReducedRows = UINT32_MAX;
  struct Base {
    uint32_t operand = 0;
    Extent extent = Extent::kFull;
    uint32_t width = 0;
    int64_t offset = 0;    // bytes
    bool is_part = false;  // some of the operand's elements, or all in another order
  };
  std::vector<Base> bases;
  bool streams = false;  // has steps that do
  std::vector<StridedView> views;
  std::vector<Counting> countings;
  Storage constants;
  size_t scalars_bytes = 0, thread_bytes = 0;
  std::vector<std::pair<uint32_t, uint32_t>> in_place;  // Kernel::in_place
};

// Raises nothing; null where a reduction has no kernel for its types.
std::shared_ptr<const ClusterPlan> plan_cluster(const Program& body);

}  // namespace farcall::native
