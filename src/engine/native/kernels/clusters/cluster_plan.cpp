// Plans clusters: chooses the size of tiles, and gives the registers of the steps memory.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <farcall/primitives/reduce.h>

#include "engine/native/arena.h"
#include "engine/native/jit/encode.h"
#include "engine/native/kernels/clusters/cluster.h"
#include "engine/native/kernels/clusters/cluster_code.h"
#include "engine/native/kernels/clusters/cluster_steps.h"
#include "engine/native/kernels/vector/prefetch.h"

namespace farcall::native {
namespace {

// The values of a tile fit in 24 KiB, of the 32 KiB or more of a core's first-level cache.
constexpr int64_t kTileBytes = int64_t{24} << 10;
constexpr int64_t kMinTile = 128, kMaxTile = 2048;
// The most elements of a tile whose rows are only reduced.
constexpr int64_t kMaxReducedTile = 32768;
// Machine code goes by rows if they have this many elements.
constexpr int64_t kLongRow = 16;
// The fewest elements of rows that are read in place, by separate loops and by machine code: below,
// tiles of one row take longer than copies of the rows to larger tiles.
constexpr int64_t kLeastRow = 512, kLeastRowOfCode = 96;
// The size of tiles of machine code without values in the thread's memory.
constexpr int64_t kTileOfCode = 8192;
// The values of rows that machine code reads more than once take at most these bytes: a first-level
// cache, or a small part of the second-level one.
constexpr int64_t kRowsOfCode = 16;
constexpr size_t kRowsOfCodeBytes = size_t{48} << 10;
// Memory for the values of one of these rows, as the parts of its sum.
constexpr size_t kRowBytes = 256;

using Kind = TileStep::Kind;
using Register = TileRegister;
using Phase = TilePhase;
using Draft = TileDraft;

class TilePlanner {
 public:
  explicit TilePlanner(ClusterSteps steps) : steps_(std::move(steps)) {}

  // Returns null if a reduction has no kernel.
  std::shared_ptr<const ClusterPlan> run() {
    choose_tiles();
    choose_phases();
    find_last_reads(steps_);
    // Machine code that is made later uses the same memory.
    const size_t least = has_free_rows() ? memory_of_code() : 0;
    auto made = finished();
    if (made) made->thread_bytes = std::max(made->thread_bytes, least);
    return made;
  }

  // The same with machine code. Returns null if no step has code.
  std::shared_ptr<const ClusterPlan> run_coded() {
    choose_tiles();
    const int64_t least_rows = plan_->tile_rows;
    // More than one if there may be more in the end, for a tile of one row has fewer steps.
    if (has_free_rows())
      plan_->tile_rows = std::max(least_rows, std::min<int64_t>(rows_of_code(), 2));
    choose_phases();
    steps_.are_streamed =
        !plan_->column_reduction && width_of_bases() * domain_.size >= kStreamedBytes;
    runs_ = find_coded_runs(steps_, plan_->columns >= kLongRow ? plan_->columns : 0);
    if (runs_.empty()) return nullptr;
    for (size_t i = 0; i < runs_.size(); ++i) {
      find_pointers(steps_, runs_[i]);
      for (const size_t step : runs_[i].steps) run_of_[step] = i;
    }
    if (domain_.columns == 0 && width_in_thread_memory() == 0) {
      plan_->tile_columns = std::min(kTileOfCode, plan_->columns);
      plan_->parts = plan_->num_tiles = (plan_->columns - 1) / plan_->tile_columns + 1;
    }
    if (has_free_rows()) {
      plan_->tile_rows = std::max(least_rows, rows_of_code());
      if (plan_->tile_rows > 1) {
        for (CodedRun& run : runs_) run.code.tile_size = plan_->tile_rows * plan_->columns;
      }
      plan_->num_tiles = (plan_->rows - 1) / plan_->tile_rows + 1;
    }
    auto made = finished();
    return has_all_codes_ ? made : nullptr;
  }

 private:
  std::shared_ptr<ClusterPlan> finished() {
    if (reads_constants()) plan_->constants = constants_.place(multiple(Extent::kFull));
    place_registers();
    emit();
    find_in_place();
    return make_reductions() ? std::move(plan_) : nullptr;
  }

  // The bytes of operands and results per element of a tile.
  int64_t width_of_bases() const {
    int64_t width = 0;
    for (const ClusterPlan::Base& base : plan_->bases) {
      if (base.extent == Extent::kFull) width += base.width;
    }
    return width;
  }
  // The same of values that machine code does not keep in registers.
  int64_t width_in_thread_memory() const {
    int64_t width = 0;
    for_each_in_thread_memory([&](const Register& made) { width += made.width; });
    return width;
  }
  template <class F>
  void for_each_in_thread_memory(const F& f) const {
    for (size_t i = 0; i < drafts_.size(); ++i) {
      const Register& made = registers_[drafts_[i].output];
      if (drafts_[i].is_left_out || made.home != Register::Home::kScratch) continue;
      if (made.extent == Extent::kFull && !is_in_registers(i)) f(made);
    }
  }
  // Whether tiles are rows that are reduced, as many as wanted.
  bool has_free_rows() const {
    return domain_.has_reduction && domain_.columns != 0 && !plan_->column_reduction &&
           !steps_.reads_rows;
  }
  // The most rows of a tile of machine code: enough tiles are left for several threads.
  int64_t most_rows_of_code() const { return std::clamp<int64_t>(plan_->rows / 8, 1, kRowsOfCode); }
  // At most so many bytes of a thread's memory are used by a tile of machine code.
  size_t memory_of_code() const {
    const int64_t rows = most_rows_of_code();
    size_t of_elements = 0;
    for_each_in_thread_memory([&](const Register& made) {
      of_elements += rounded(static_cast<size_t>(rows * plan_->columns) * made.width);
    });
    return std::min(of_elements, kRowsOfCodeBytes) + static_cast<size_t>(rows) * kRowBytes;
  }
  // The rows of a tile of machine code. Sums take four rows at a time.
  int64_t rows_of_code() const {
    // Before the runs are found, all values might be in registers.
    const int64_t width = width_of_bases() + (runs_.empty() ? 0 : width_in_thread_memory());
    const int64_t most = most_rows_of_code();
    const int64_t rows =
        static_cast<int64_t>(kRowsOfCodeBytes) / std::max<int64_t>(1, width * plan_->columns);
    return std::clamp<int64_t>(rows > 4 ? rows / 4 * 4 : rows, 1, most);
  }
  bool is_in_registers(size_t step) const {
    const CodedRun* const run = run_of(step);
    if (!run) return false;
    const auto number = std::ranges::find(run->registers, drafts_[step].output);
    return !run->code.values[static_cast<size_t>(number - run->registers.begin())].pointer;
  }

  // Whether a step reads a constant from memory.
  bool reads_constants() const {
    for (size_t i = 0; i < drafts_.size(); ++i) {
      if (drafts_[i].is_left_out || run_of(i)) continue;
      for (const size_t input : drafts_[i].inputs) {
        if (registers_[input].home == Register::Home::kConstant) return true;
      }
    }
    return false;
  }

  int64_t multiple(Extent extent) const {
    switch (extent) {
      case Extent::kRow:
        return plan_->tile_rows;
      case Extent::kColumn:
        return plan_->tile_columns;
      case Extent::kFull:
        return plan_->tile_rows * plan_->tile_columns;
      default:
        return 1;
    }
  }

  // The number of bytes that a tile needs per element.
  int64_t bytes_per_element() {
    find_last_reads(steps_);
    std::vector<int64_t> change(drafts_.size() + 1, 0);
    int64_t always = constants_.nbytes() + width_of_bases();
    for (const Register& each : registers_) {
      if (each.home != Register::Home::kScratch || each.extent != Extent::kFull ||
          each.made_by == kNoStep) {
        continue;
      }
      if (drafts_[each.made_by].kind == Kind::kFill) {
        always += each.width;
        continue;
      }
      change[each.made_by] += each.width;
      change[std::max(each.made_by, each.last_read == kNoStep ? 0 : each.last_read) + 1] -=
          each.width;
    }
    int64_t live = 0, most = 0;
    for (const int64_t by : change) most = std::max(most, live += by);
    return std::max<int64_t>(1, always + most);
  }

  // See StridedView.
  int64_t tile_unit() const {
    int64_t unit = 1;
    for (const StridedView& view : plan_->views) unit = std::max(unit, view.tile_unit());
    return unit;
  }

  // Whether a step makes a value for each element, and not only for each row.
  bool makes_elements() const {
    return std::ranges::any_of(drafts_, [&](const Draft& draft) {
      return registers_[draft.output].extent == Extent::kFull;
    });
  }

  void choose_tiles() {
    if (domain_.size == 1) return;
    int64_t tile = std::clamp(kTileBytes / bytes_per_element(), kMinTile, kMaxTile) / 64 * 64;
    if (!plan_->column_reduction && !makes_elements()) tile = kMaxReducedTile;
    const int64_t unit = tile_unit();
    tile = std::max<int64_t>(tile / unit, 1) * unit;
    tile = std::min(tile, domain_.size);
    plan_->columns = domain_.columns == 0 ? domain_.size : domain_.columns;
    plan_->rows = domain_.size / plan_->columns;
    if (plan_->column_reduction) {
      choose_tiles_of_columns(tile);
    } else if (plan_->columns <= tile || domain_.has_reduction) {
      plan_->tile_rows =
          steps_.reads_rows ? 1 : std::clamp<int64_t>(tile / plan_->columns, 1, plan_->rows);
      plan_->tile_columns = plan_->columns;
    } else {
      plan_->tile_columns = tile;
      plan_->parts = (plan_->columns - 1) / tile + 1;
    }
    plan_->num_tiles = ((plan_->rows - 1) / plan_->tile_rows + 1) * plan_->parts;
  }

  // Tiles have several rows if the reduction reads whole rows.
  void choose_tiles_of_columns(int64_t tile) {
    constexpr int64_t kMostRows = 32;
    ClusterPlan::ColumnReduction& reduction = *plan_->column_reduction;
    plan_->tile_columns = reduction.kernel.columns_at_once();
    plan_->parts = (plan_->columns - 1) / plan_->tile_columns + 1;
    plan_->tile_rows =
        plan_->parts > 1 ? 1 : std::clamp<int64_t>(tile / plan_->columns, 1, kMostRows);
    plan_->tile_rows = std::min(plan_->tile_rows, plan_->rows);
    reduction.rows_at_once = (plan_->tile_rows + 3) / 4 * 4;
  }

  void choose_phases() {
    for (Draft& draft : drafts_) draft.phase = phase_of(draft);
  }

  Phase phase_of(Draft& draft) {
    Register& output = registers_[draft.output];
    if (output.extent == Extent::kScalar) return Phase::kOnce;
    if (output.home == Register::Home::kBase) return Phase::kPerTile;  // a result
    if (draft.kind == Kind::kFill) return Phase::kPerThread;
    const bool is_of_columns = draft.kind == Kind::kRepeatColumns;
    if (is_of_columns && plan_->tile_rows == 1) {
      // A single row need not be repeated.
      output.same_as = draft.inputs[0];
      draft.is_left_out = true;
    }
    const bool is_the_same =
        (is_of_columns || output.extent == Extent::kColumn) && plan_->parts == 1;
    return is_the_same ? Phase::kPerThread : Phase::kPerTile;
  }

  // ---- memory

  size_t owner_of(size_t number) const { return owner(registers_, number); }

  static size_t rounded(size_t nbytes) {
    return (nbytes + kAlignment - 1) / kAlignment * kAlignment;
  }

  size_t bytes_of(const Register& each) const {
    return static_cast<size_t>(multiple(each.extent)) * each.width;
  }

  void place_registers() {
    Arena arena;
    size_t scalars = 0;
    // Values that last for the whole run are kept apart from those that each tile overwrites.
    for (const Draft& draft : drafts_) {
      Register& made = registers_[draft.output];
      if (made.home != Register::Home::kScratch || made.same_as) continue;
      if (draft.phase == Phase::kOnce) {
        made.offset = static_cast<uint32_t>(scalars);
        scalars += kMaxComputeWidth;
      } else if (draft.phase == Phase::kPerThread && !draft.is_left_out) {
        made.offset = static_cast<uint32_t>(arena.allocate(bytes_of(made)));
      }
    }
    for (size_t i = 0; i < drafts_.size(); ++i) {
      if (drafts_[i].phase != Phase::kPerTile || drafts_[i].is_left_out) continue;
      const CodedRun* const run = run_of(i);
      if (!run) {
        place_output(arena, i);
      } else if (run->steps.front() == i) {
        place_results(arena, *run);
      }
    }
    plan_->scalars_bytes = rounded(scalars);
    plan_->thread_bytes = arena.size();
    if (plan_->column_reduction) {
      ClusterPlan::ColumnReduction& reduction = *plan_->column_reduction;
      reduction.rows_offset = rounded(plan_->thread_bytes);
      plan_->thread_bytes =
          reduction.rows_offset +
          static_cast<size_t>(reduction.rows_at_once * plan_->tile_columns) * reduction.width;
    }
  }

  const CodedRun* run_of(size_t step) const {
    const auto found = run_of_.find(step);
    return found == run_of_.end() ? nullptr : &runs_[found->second];
  }

  // A result may overwrite an operand that is read for the last time: the run reads elements before
  // it writes the same ones.
  void place_results(Arena& arena, const CodedRun& run) {
    std::vector<size_t> dying, made;
    for (size_t i = 0; i < run.registers.size(); ++i) {
      const size_t number = run.registers[i];
      const Register& each = registers_[number];
      const jit::TileValue& value = run.code.values[i];
      if (each.home != Register::Home::kScratch || !value.pointer) continue;
      if (value.source == jit::TileValue::Source::kMade) {
        made.push_back(number);
      } else if (drafts_[each.made_by].phase == Phase::kPerTile && each.last_read != kNoStep &&
                 run_of(each.last_read) == &run) {
        dying.push_back(number);
      }
    }
    for (const size_t number : made) {
      Register& each = registers_[number];
      const auto same = std::ranges::find_if(dying, [&](size_t other) {
        return registers_[other].extent == Extent::kFull && registers_[other].width == each.width;
      });
      if (same != dying.end()) {
        each.offset = registers_[*same].offset;
        dying.erase(same);
      } else {
        each.offset = static_cast<uint32_t>(arena.allocate(bytes_of(each)));
      }
    }
    if (run.parts_of_sum) {
      Register& parts = registers_[*run.parts_of_sum];
      parts.offset = static_cast<uint32_t>(arena.allocate(bytes_of(parts)));
    }
    for (const size_t number : dying) {
      arena.release(registers_[number].offset, bytes_of(registers_[number]));
    }
  }

  bool dies_at(size_t number, size_t step) const {
    const Register& each = registers_[number];
    return each.home == Register::Home::kScratch && each.last_read == step &&
           drafts_[each.made_by].phase == Phase::kPerTile;
  }

  // A loop may overwrite an operand that is read for the last time.
  void place_output(Arena& arena, size_t step) {
    const Draft& draft = drafts_[step];
    Register& made = registers_[draft.output];
    std::vector<size_t> dying;
    for (const size_t input : draft.inputs) {
      const size_t number = owner_of(input);
      if (dies_at(number, step) && std::ranges::find(dying, number) == dying.end()) {
        dying.push_back(number);
      }
    }
    if (made.home == Register::Home::kScratch) {
      const auto same = std::ranges::find_if(dying, [&](size_t number) {
        const Register& each = registers_[number];
        return draft.kind == Kind::kLoop && each.extent == made.extent && each.width == made.width;
      });
      if (same != dying.end()) {
        made.offset = registers_[*same].offset;
        dying.erase(same);
      } else {
        made.offset = static_cast<uint32_t>(arena.allocate(bytes_of(made)));
      }
    }
    for (const size_t number : dying) {
      arena.release(registers_[number].offset, bytes_of(registers_[number]));
    }
    if (made.home == Register::Home::kScratch && made.last_read == kNoStep) {
      arena.release(made.offset, bytes_of(made));
    }
  }

  TileAddress address(size_t number) const {
    const Register& each = registers_[owner_of(number)];
    if (each.home == Register::Home::kBase) return {TileAddress::kOperands + each.index, 0};
    if (each.home == Register::Home::kConstant) {
      return {TileAddress::kConstants, constants_.offset(each.index)};
    }
    return {each.extent == Extent::kScalar ? TileAddress::kScalars : TileAddress::kThread,
            each.offset};
  }

  void emit_code(const CodedRun& run) {
    ClusterPlan::Code code{.goes_by_rows = run.code.goes_by_rows(),
                           .num_operations = std::ssize(run.steps)};
    for (size_t i = 0; i < run.registers.size(); ++i) {
      if (run.code.values[i].pointer) code.pointers.push_back(address(run.registers[i]));
    }
    if (run.parts_of_sum) code.pointers.push_back(address(*run.parts_of_sum));
    plan_->per_tile.push_back(
        {.kind = Kind::kCode, .index = static_cast<uint32_t>(plan_->codes.size())});
    if (code.pointers.size() <= ClusterPlan::kMostPointers) {
      code.memory = jit::ExecutableMemory(jit::encode(jit::lower_tiles(run.code)));
    }
    has_all_codes_ = has_all_codes_ && code.memory.data();
    plan_->codes.push_back(std::move(code));
  }

  void emit() {
    for (size_t number = 0; number < drafts_.size(); ++number) {
      const Draft& draft = drafts_[number];
      if (draft.is_left_out) continue;
      plan_->num_operations += draft.phase == Phase::kPerTile;
      if (const CodedRun* const run = run_of(number)) {
        if (run->steps.front() == number) emit_code(*run);
        continue;
      }
      TileStep step{
          .kind = draft.kind,
          .extent = registers_[draft.output].extent,
          .width = registers_[draft.inputs.empty() ? draft.output : draft.inputs[0]].width,
          .index = draft.index,
          .output = address(draft.output),
          .loop = draft.loop,
          .extra = draft.extra};
      for (size_t i = 0; i < draft.inputs.size(); ++i) step.inputs[i] = address(draft.inputs[i]);
      (draft.phase == Phase::kOnce        ? plan_->once
       : draft.phase == Phase::kPerThread ? plan_->per_thread
                                          : plan_->per_tile)
          .push_back(step);
    }
  }

  // An output may use the memory of an input with the same number of elements of the same width, if
  // no step reads the input after the output is written.
  void find_in_place() {
    const auto num_inputs = steps_.num_inputs;
    const auto order = [&](size_t step) {
      const CodedRun* const run = run_of(step);
      return std::pair(drafts_[step].phase, run ? run->steps.front() : step);
    };
    std::map<uint32_t, size_t> num_bases;  // by operand
    for (const ClusterPlan::Base& base : plan_->bases) ++num_bases[base.operand];
    std::vector<const Register*> read, written;
    for (const Register& each : registers_) {
      if (each.home != Register::Home::kBase) continue;
      const ClusterPlan::Base& base = plan_->bases[each.index];
      if (base.operand == ClusterPlan::kReducedRows) continue;
      if (each.made_by != kNoStep) written.push_back(&each);
      // Every tile reads the start of a slice.
      const bool is_start = std::ranges::any_of(
          plan_->starts, [&](const SliceStart& start) { return start.reads(base.operand); });
      const bool may_go = !base.is_part && !is_start &&
                          (base.extent == Extent::kFull || base.extent == Extent::kScalar);
      if (base.operand < num_inputs && num_bases[base.operand] == 1 && may_go) {
        read.push_back(&each);
      }
    }
    for (const Register* input : read) {
      const ClusterPlan::Base& from = plan_->bases[input->index];
      for (const Register* output : written) {
        const ClusterPlan::Base& to = plan_->bases[output->index];
        if (to.extent != from.extent || to.width != from.width) continue;
        const Draft& writer = drafts_[output->made_by];
        const bool reads_first = order(input->last_read) < order(output->made_by);
        const bool is_in_step = order(input->last_read) == order(output->made_by) &&
                                (writer.kind == Kind::kLoop || writer.kind == Kind::kConvert);
        if (reads_first || is_in_step) {
          plan_->in_place.emplace_back(from.operand, to.operand - num_inputs);
        }
      }
    }
  }

  bool make_reductions() {
    for (const ClusterSteps::Reduction& each : steps_.reductions) {
      const auto make = [&](int64_t rows) {
        const ShapeDtype in(each.from, {rows, plan_->columns}), out(each.to, {rows});
        const ParamsPtr params = make_params(ReduceParams{{1}});
        return find_kernel(each.primitive)({&in, 1}, {&out, 1}, params.get());
      };
      const int64_t left = plan_->rows % plan_->tile_rows;
      ClusterPlan::Reduction reduction{.whole = make(plan_->tile_rows),
                                       .last = {},
                                       .store = make_conversion(each.from, each.to)};
      if (left != 0) reduction.last = make(left);
      if (!reduction.whole.run || reduction.whole.scratch_bytes != 0) return false;
      plan_->reductions.push_back(std::move(reduction));
    }
    return !plan_->column_reduction || plan_->column_reduction->kernel.is_valid();
  }

  ClusterSteps steps_;
  std::shared_ptr<ClusterPlan> plan_ = std::make_shared<ClusterPlan>(std::move(steps_.plan));
  const Domain& domain_ = steps_.domain;
  std::vector<Register>& registers_ = steps_.registers;
  std::vector<Draft>& drafts_ = steps_.drafts;
  TileConstants& constants_ = steps_.constants;
  std::vector<CodedRun> runs_;
  std::map<size_t, size_t> run_of_;  // by step
  bool has_all_codes_ = true;
};

}  // namespace

std::shared_ptr<const ClusterPlan> plan_cluster(const Program& body) {
  return TilePlanner(steps_of_cluster(body, kLeastRow)).run();
}

std::shared_ptr<const ClusterPlan> plan_coded_cluster(const Program& body,
                                                      const ClusterPlan& plain) {
  auto coded = TilePlanner(steps_of_cluster(body, kLeastRowOfCode)).run_coded();
  if (!coded) return nullptr;
  const bool fits =
      coded->scalars_bytes <= plain.scalars_bytes && coded->thread_bytes <= plain.thread_bytes;
  const bool shares = std::ranges::all_of(plain.in_place, [&](const auto& pair) {
    return std::ranges::find(coded->in_place, pair) != coded->in_place.end();
  });
  return fits && shares ? coded : nullptr;
}

}  // namespace farcall::native
