// The plan of a cluster: a list of steps, each a loop over a tile of elements that stays in the
// cache, with the addresses that it reads and writes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <farcall/core/storage.h>
#include <farcall/program/program.h>

#include "engine/native/cluster_domain.h"
#include "engine/native/jit/memory.h"
#include "engine/native/kernels/clusters/tile_load.h"
#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/movement/slice_start.h"
#include "engine/native/kernels/movement/take.h"
#include "engine/native/kernels/reductions/reduce.h"

namespace farcall::native {

// The memory that a value takes in a block of several: each begins at a multiple of kAlignment.
constexpr size_t memory_of(size_t nbytes) {
  return (nbytes + kAlignment - 1) / kAlignment * kAlignment;
}

// An address in a tile: an offset from a base. The bases: the thread's memory, the constants, the
// scalars, which are computed once per run, then those of ClusterPlan::bases.
struct TileAddress {
  static constexpr uint32_t kThread = 0, kConstants = 1, kScalars = 2, kOperands = 3;
  uint32_t base = kThread;
  uint32_t offset = 0;
};

struct TileStep {
  enum class Kind : uint8_t {
    kLoop,
    kConvert,
    kFill,           // repeats one element
    kRepeatRows,     // repeats the element of each row along the row
    kRepeatColumns,  // repeats a row for all rows
    kReduce,
    kFinishSum,  // of the parts that code computed, for each row
    kLoad,       // reads a tile of a strided view
    kJoin,       // reads a tile of operands side by side
    kPad,        // reads a tile of the first input with the second one around it
    kTake,       // takes elements of the second input at the indices in the first
    kCount,      // the numbers of an iota
    kCode,       // machine code for several loops
  };
  Kind kind = Kind::kLoop;
  Extent extent = Extent::kFull;  // of the output
  uint32_t width = 0;             // of a repeated element
  uint32_t index = 0;  // of the conversion, reduction, view, join, pad, take, iota or code
  TileAddress inputs[kMaxElementwiseInputs];
  TileAddress output;
  Loop loop = nullptr;
  int64_t extra = 0;
};

struct ClusterPlan {
  // A tile is `tile_rows` whole rows, or, if rows are cut into several parts, a part of one row.
  int64_t rows = 1, columns = 1;
  int64_t tile_rows = 1, tile_columns = 1, parts = 1;
  int64_t num_tiles = 0;

  std::vector<TileStep> once;        // computes scalars, before all other steps
  std::vector<TileStep> per_thread;  // results that are the same for all tiles
  std::vector<TileStep> per_tile;
  int64_t num_operations = 0;  // for each element of a tile
  std::vector<Conversion> conversions;
  struct Reduction {
    Kernel whole, last;  // for tile_rows rows, and for the rows of the last tile
    Conversion store{};  // of a sum in float32 that code computed
  };
  std::vector<Reduction> reductions;
  struct Code {
    jit::ExecutableMemory memory;
    std::vector<TileAddress> pointers;
    bool goes_by_rows = false;
    int64_t num_operations = 0;
  };
  static constexpr size_t kMostPointers = 64;
  std::vector<Code> codes;

  // A reduction of columns. Its kernel requests rows, which are computed in tiles into the memory
  // of the thread.
  struct ColumnReduction {
    native::ColumnReduction kernel;
    uint32_t width = 0;        // of an element of the rows
    uint32_t output = 0;       // operand
    int64_t rows_at_once = 0;  // see ColumnReduction::run
    size_t rows_offset = 0;    // in the thread's memory
  };
  std::optional<ColumnReduction> column_reduction;

  // The base operand that stands for the rows to reduce.
  static constexpr uint32_t kReducedRows = UINT32_MAX;
  struct Base {
    uint32_t operand = 0;
    Extent extent = Extent::kFull;
    uint32_t width = 0;
    int64_t offset = 0;               // bytes
    bool is_part = false;             // a selection or permutation of the operand's elements
    std::optional<uint32_t> start{};  // of a dynamic slice
    std::optional<uint32_t> view{};   // where each row is, if not next to the row before
  };
  std::vector<Base> bases;
  std::vector<SliceStart> starts;
  std::vector<StridedView> views;
  struct Join {
    Joined elements;
    std::vector<uint32_t> bases;
  };
  std::vector<Join> joins;
  std::vector<Padded> pads;
  std::vector<Take> takes;
  std::vector<Counting> countings;
  Storage constants;
  size_t scalars_bytes = 0, thread_bytes = 0;
  std::vector<std::pair<uint32_t, uint32_t>> in_place;  // Kernel::in_place
};

// Returns null if a reduction has no kernel for its types. Raises nothing.
std::shared_ptr<const ClusterPlan> plan_cluster(const Program& body);

// The same plan with machine code for most steps. It needs no more memory than `plain`, and its
// results may share the memory of the same operands. Returns null if there is no such code.
std::shared_ptr<const ClusterPlan> plan_coded_cluster(const Program& body,
                                                      const ClusterPlan& plain);

// What an instruction of a plan has as machine code; zeros for other instructions than clusters.
// Makes code that has not been made yet, unless jit_loops() is off.
struct ClusterCode {
  int64_t num_operations = 0;
  size_t nbytes = 0;
};
ClusterCode make_cluster_code(void (*run)(const KernelCall&), const void* data);
// The same without making code.
ClusterCode cluster_code(void (*run)(const KernelCall&), const void* data);

}  // namespace farcall::native
