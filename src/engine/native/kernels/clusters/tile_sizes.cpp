#include "engine/native/kernels/clusters/tile_sizes.h"

#include <algorithm>
#include <vector>

namespace farcall::native {
namespace {

// The values of a tile fit in 24 KiB, of the 32 KiB or more of a core's first-level cache.
constexpr int64_t kTileBytes = int64_t{24} << 10;
constexpr int64_t kMinTile = 128, kMaxTile = 2048;
// The most elements of a tile whose rows are only reduced.
constexpr int64_t kMaxReducedTile = 32768;
// The size of tiles of machine code without values in the thread's memory.
constexpr int64_t kTileOfCode = 8192;
// The values of rows that machine code reads more than once take at most these bytes: a first-level
// cache, or a small part of the second-level one.
constexpr int64_t kRowsOfCode = 16;
constexpr size_t kRowsOfCodeBytes = size_t{48} << 10;
// The most memory of a tile that machine code and moves of elements share: twice that of its
// values, since freed pieces may be too small for others.
constexpr size_t kMovedBytes = size_t{2} * kTileBytes;
// Memory for the values of one of these rows, as the parts of its sum.
constexpr size_t kRowBytes = 256;

}  // namespace

int64_t TileSizes::width_of_bases() const {
  int64_t width = 0;
  for (const ClusterPlan::Base& base : plan_.bases) {
    if (base.extent == Extent::kFull) width += base.width;
  }
  return width;
}

// Calls `f` with the values that machine code does not keep in registers.
template <class F>
void TileSizes::for_each_in_thread_memory(const F& f) const {
  for (size_t i = 0; i < drafts_.size(); ++i) {
    const TileRegister& made = registers_[drafts_[i].output];
    if (drafts_[i].is_left_out || made.home != TileRegister::Home::kScratch) continue;
    if (made.extent == Extent::kFull && !draft_.is_in_registers(i)) f(made);
  }
}

int64_t TileSizes::width_in_thread_memory() const {
  int64_t width = 0;
  for_each_in_thread_memory([&](const TileRegister& made) { width += made.width; });
  return width;
}

// Whether tiles are rows that are reduced, as many as wanted.
bool TileSizes::has_free_rows() const {
  return domain_.has_reduction && domain_.columns != 0 && !plan_.column_reduction &&
         !draft_.steps.reads_rows;
}

// Whether tiles of any size may be cut, and steps without machine code move elements between
// others.
bool TileSizes::has_free_columns() const {
  const auto moves = [](const TileDraft& draft) {
    using Kind = TileStep::Kind;
    return draft.kind == Kind::kLoad || draft.kind == Kind::kJoin || draft.kind == Kind::kPad ||
           draft.kind == Kind::kTake || draft.kind == Kind::kCount;
  };
  return domain_.columns == 0 && std::ranges::any_of(drafts_, moves);
}

// The most rows of a tile of machine code: enough tiles are left for several threads.
int64_t TileSizes::most_rows_of_code() const {
  return std::clamp<int64_t>(plan_.rows / 8, 1, kRowsOfCode);
}

size_t TileSizes::memory_of_code() const {
  if (has_free_columns()) return kMovedBytes;
  if (!has_free_rows()) return 0;
  const int64_t rows = most_rows_of_code();
  size_t of_elements = 0;
  for_each_in_thread_memory([&](const TileRegister& made) {
    of_elements += memory_of(static_cast<size_t>(rows * plan_.columns) * made.width);
  });
  return std::min(of_elements, kRowsOfCodeBytes) + static_cast<size_t>(rows) * kRowBytes;
}

// The rows of a tile of machine code. Sums take four rows at a time.
int64_t TileSizes::rows_of_code() const {
  // Before the runs are found, all values might be in registers.
  const int64_t width = width_of_bases() + (draft_.runs.empty() ? 0 : width_in_thread_memory());
  const int64_t most = most_rows_of_code();
  const int64_t rows =
      static_cast<int64_t>(kRowsOfCodeBytes) / std::max<int64_t>(1, width * plan_.columns);
  return std::clamp<int64_t>(rows > 4 ? rows / 4 * 4 : rows, 1, most);
}

// The number of bytes that a tile needs per element. Machine code holds constants in registers, and
// the results of a run of steps at the same time.
int64_t TileSizes::bytes_per_element() {
  find_last_reads(draft_.steps);
  std::vector<int64_t> change(drafts_.size() + 1, 0);
  int64_t always = width_of_bases();
  if (draft_.runs.empty()) always += draft_.steps.constants.nbytes();
  for_each_in_thread_memory([&](const TileRegister& each) {
    if (drafts_[each.made_by].kind == TileStep::Kind::kFill) {
      always += each.width;
      return;
    }
    const size_t last = each.last_read == kNoStep ? each.made_by : each.last_read;
    const CodedRun* const made = draft_.run_of(each.made_by);
    const CodedRun* const read = draft_.run_of(last);
    change[made ? made->steps.front() : each.made_by] += each.width;
    change[(read ? read->steps.back() : last) + 1] -= each.width;
  });
  int64_t live = 0, most = 0;
  for (const int64_t by : change) most = std::max(most, live += by);
  return std::max<int64_t>(1, always + most);
}

// The elements of a tile whose values fit in a cache.
int64_t TileSizes::elements_in_cache() {
  return std::clamp(kTileBytes / bytes_per_element(), kMinTile, kMaxTile) / 64 * 64;
}

// The size of a tile as a multiple of what StridedView::tile_unit says.
int64_t TileSizes::whole_units(int64_t tile) const {
  int64_t unit = 1;
  for (const StridedView& view : plan_.views) unit = std::max(unit, view.tile_unit());
  return std::max<int64_t>(tile / unit, 1) * unit;
}

// Whether a step makes a value for each element, and not only for each row.
bool TileSizes::makes_elements() const {
  return std::ranges::any_of(drafts_, [&](const TileDraft& draft) {
    return registers_[draft.output].extent == Extent::kFull;
  });
}

void TileSizes::choose() {
  if (domain_.size == 1) return;
  int64_t tile = elements_in_cache();
  if (!plan_.column_reduction && !makes_elements()) tile = kMaxReducedTile;
  tile = std::min(whole_units(tile), domain_.size);
  plan_.columns = domain_.columns == 0 ? domain_.size : domain_.columns;
  plan_.rows = domain_.size / plan_.columns;
  if (plan_.column_reduction) {
    choose_for_columns(tile);
  } else if (plan_.columns <= tile || domain_.has_reduction) {
    plan_.tile_rows =
        draft_.steps.reads_rows ? 1 : std::clamp<int64_t>(tile / plan_.columns, 1, plan_.rows);
    plan_.tile_columns = plan_.columns;
  } else {
    plan_.tile_columns = tile;
    plan_.parts = (plan_.columns - 1) / tile + 1;
  }
  plan_.num_tiles = ((plan_.rows - 1) / plan_.tile_rows + 1) * plan_.parts;
}

// Tiles have several rows if the reduction reads whole rows.
void TileSizes::choose_for_columns(int64_t tile) {
  constexpr int64_t kMostRows = 32;
  ClusterPlan::ColumnReduction& reduction = *plan_.column_reduction;
  plan_.tile_columns = reduction.kernel.columns_at_once();
  plan_.parts = (plan_.columns - 1) / plan_.tile_columns + 1;
  plan_.tile_rows = plan_.parts > 1 ? 1 : std::clamp<int64_t>(tile / plan_.columns, 1, kMostRows);
  plan_.tile_rows = std::min(plan_.tile_rows, plan_.rows);
  reduction.rows_at_once = (plan_.tile_rows + 3) / 4 * 4;
}

void TileSizes::choose_before_code() {
  choose();
  least_rows_ = plan_.tile_rows;
  if (has_free_rows())
    plan_.tile_rows = std::max(least_rows_, std::min<int64_t>(rows_of_code(), 2));
}

void TileSizes::choose_for_code() {
  const bool is_in_registers = domain_.columns == 0 && width_in_thread_memory() == 0;
  if (is_in_registers || has_free_columns()) {
    int64_t tile = kTileOfCode;
    if (!is_in_registers) {
      tile = std::max(plan_.tile_columns, whole_units(elements_in_cache()));
      for (CodedRun& run : draft_.runs) run.code.tile_size = tile;
    }
    plan_.tile_columns = std::min(tile, plan_.columns);
    plan_.parts = plan_.num_tiles = (plan_.columns - 1) / plan_.tile_columns + 1;
  }
  if (!has_free_rows()) return;
  plan_.tile_rows = std::max(least_rows_, rows_of_code());
  if (plan_.tile_rows > 1) {
    for (CodedRun& run : draft_.runs) run.code.tile_size = plan_.tile_rows * plan_.columns;
  }
  plan_.num_tiles = (plan_.rows - 1) / plan_.tile_rows + 1;
}

namespace {

TilePhase phase_of(TileDraft& draft, std::vector<TileRegister>& registers,
                   const ClusterPlan& plan) {
  TileRegister& output = registers[draft.output];
  if (output.extent == Extent::kScalar) return TilePhase::kOnce;
  if (output.home == TileRegister::Home::kBase) return TilePhase::kPerTile;  // a result
  if (draft.kind == TileStep::Kind::kFill) return TilePhase::kPerThread;
  const bool is_of_columns = draft.kind == TileStep::Kind::kRepeatColumns;
  if (is_of_columns && plan.tile_rows == 1) {
    // A single row need not be repeated.
    output.same_as = draft.inputs[0];
    draft.is_left_out = true;
  }
  const bool is_the_same = (is_of_columns || output.extent == Extent::kColumn) && plan.parts == 1;
  return is_the_same ? TilePhase::kPerThread : TilePhase::kPerTile;
}

}  // namespace

void choose_phases(ClusterDraft& draft) {
  for (TileDraft& step : draft.steps.drafts) {
    step.phase = phase_of(step, draft.steps.registers, *draft.plan);
  }
}

}  // namespace farcall::native
