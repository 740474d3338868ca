// Plans clusters: chooses the size of tiles, gives the registers of the steps memory, and writes
// the steps.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <farcall/primitives/reduce.h>

#include "engine/native/jit/encode.h"
#include "engine/native/kernels/clusters/cluster.h"
#include "engine/native/kernels/clusters/cluster_draft.h"
#include "engine/native/kernels/clusters/tile_memory.h"
#include "engine/native/kernels/clusters/tile_sizes.h"
#include "engine/native/kernels/vector/prefetch.h"

namespace farcall::native {
namespace {

// Machine code goes by rows if they have this many elements.
constexpr int64_t kLongRow = 16;
// The fewest elements of rows that are read in place, by separate loops and by machine code: below,
// tiles of one row take longer than copies of the rows to larger tiles.
constexpr int64_t kLeastRow = 512, kLeastRowOfCode = 96;

// Writes the plan of a draft whose tiles and phases are known.
class PlanWriter {
 public:
  explicit PlanWriter(ClusterDraft& draft) : draft_(draft) {}

  // Returns false if a reduction has no kernel.
  bool run() {
    if (reads_constants()) plan_.constants = constants_.place(draft_.multiple(Extent::kFull));
    place_registers(draft_);
    emit();
    find_in_place();
    return make_reductions();
  }
  bool has_all_codes() const { return has_all_codes_; }

 private:
  // Whether a step reads a constant from memory.
  bool reads_constants() const {
    for (size_t i = 0; i < drafts_.size(); ++i) {
      if (drafts_[i].is_left_out || draft_.run_of(i)) continue;
      for (const size_t input : drafts_[i].inputs) {
        if (registers_[input].home == TileRegister::Home::kConstant) return true;
      }
    }
    return false;
  }

  TileAddress address(size_t number) const {
    const TileRegister& each = registers_[owner(registers_, number)];
    if (each.home == TileRegister::Home::kBase) return {TileAddress::kOperands + each.index, 0};
    if (each.home == TileRegister::Home::kConstant) {
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
    plan_.per_tile.push_back(
        {.kind = TileStep::Kind::kCode, .index = static_cast<uint32_t>(plan_.codes.size())});
    if (code.pointers.size() <= ClusterPlan::kMostPointers) {
      code.memory = jit::ExecutableMemory(jit::encode(jit::lower_tiles(run.code)));
    }
    has_all_codes_ = has_all_codes_ && code.memory.data();
    plan_.codes.push_back(std::move(code));
  }

  void emit() {
    for (size_t number = 0; number < drafts_.size(); ++number) {
      const TileDraft& draft = drafts_[number];
      if (draft.is_left_out) continue;
      plan_.num_operations += draft.phase == TilePhase::kPerTile;
      if (const CodedRun* const run = draft_.run_of(number)) {
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
      (draft.phase == TilePhase::kOnce        ? plan_.once
       : draft.phase == TilePhase::kPerThread ? plan_.per_thread
                                              : plan_.per_tile)
          .push_back(step);
    }
  }

  // An output may use the memory of an input with the same number of elements of the same width, if
  // no step reads the input after the output is written.
  void find_in_place() {
    const auto num_inputs = draft_.steps.num_inputs;
    const auto order = [&](size_t step) {
      const CodedRun* const run = draft_.run_of(step);
      return std::pair(drafts_[step].phase, run ? run->steps.front() : step);
    };
    std::map<uint32_t, size_t> num_bases;  // by operand
    for (const ClusterPlan::Base& base : plan_.bases) ++num_bases[base.operand];
    std::vector<const TileRegister*> read, written;
    for (const TileRegister& each : registers_) {
      if (each.home != TileRegister::Home::kBase) continue;
      const ClusterPlan::Base& base = plan_.bases[each.index];
      if (base.operand == ClusterPlan::kReducedRows) continue;
      if (each.made_by != kNoStep) written.push_back(&each);
      // Every tile reads the start of a slice.
      const bool is_start = std::ranges::any_of(
          plan_.starts, [&](const SliceStart& start) { return start.reads(base.operand); });
      const bool may_go = !base.is_part && !is_start &&
                          (base.extent == Extent::kFull || base.extent == Extent::kScalar);
      if (base.operand < num_inputs && num_bases[base.operand] == 1 && may_go) {
        read.push_back(&each);
      }
    }
    for (const TileRegister* input : read) {
      const ClusterPlan::Base& from = plan_.bases[input->index];
      for (const TileRegister* output : written) {
        const ClusterPlan::Base& to = plan_.bases[output->index];
        if (to.extent != from.extent || to.width != from.width) continue;
        const TileDraft& writer = drafts_[output->made_by];
        const bool reads_first = order(input->last_read) < order(output->made_by);
        const bool is_in_step =
            order(input->last_read) == order(output->made_by) &&
            (writer.kind == TileStep::Kind::kLoop || writer.kind == TileStep::Kind::kConvert);
        if (reads_first || is_in_step) {
          plan_.in_place.emplace_back(from.operand, to.operand - num_inputs);
        }
      }
    }
  }

  bool make_reductions() {
    for (const ClusterSteps::Reduction& each : draft_.steps.reductions) {
      const auto make = [&](int64_t rows) {
        const ShapeDtype in(each.from, {rows, plan_.columns}), out(each.to, {rows});
        const ParamsPtr params = make_params(ReduceParams{{1}});
        return find_kernel(each.primitive)({&in, 1}, {&out, 1}, params.get());
      };
      const int64_t left = plan_.rows % plan_.tile_rows;
      ClusterPlan::Reduction reduction{
          .whole = make(plan_.tile_rows), .last = {}, .store = make_conversion(each.from, each.to)};
      if (left != 0) reduction.last = make(left);
      if (!reduction.whole.run || reduction.whole.scratch_bytes != 0) return false;
      plan_.reductions.push_back(std::move(reduction));
    }
    return !plan_.column_reduction || plan_.column_reduction->kernel.is_valid();
  }

  ClusterDraft& draft_;
  ClusterPlan& plan_ = *draft_.plan;
  const std::vector<TileRegister>& registers_ = draft_.steps.registers;
  const std::vector<TileDraft>& drafts_ = draft_.steps.drafts;
  TileConstants& constants_ = draft_.steps.constants;
  bool has_all_codes_ = true;
};

// Returns null if no step has code.
std::shared_ptr<const ClusterPlan> plan_with_code(const Program& body) {
  ClusterDraft draft(steps_of_cluster(body, kLeastRowOfCode));
  TileSizes sizes(draft);
  sizes.choose_before_code();
  choose_phases(draft);
  ClusterSteps& steps = draft.steps;
  steps.are_streamed =
      !draft.plan->column_reduction && sizes.width_of_bases() * steps.domain.size >= kStreamedBytes;
  draft.runs = find_coded_runs(steps, draft.plan->columns >= kLongRow ? draft.plan->columns : 0);
  if (draft.runs.empty()) return nullptr;
  for (size_t i = 0; i < draft.runs.size(); ++i) {
    find_pointers(steps, draft.runs[i]);
    for (const size_t step : draft.runs[i].steps) draft.runs_of_steps[step] = i;
  }
  sizes.choose_for_code();
  PlanWriter writer(draft);
  return writer.run() && writer.has_all_codes() ? draft.plan : nullptr;
}

}  // namespace

std::shared_ptr<const ClusterPlan> plan_cluster(const Program& body) {
  ClusterDraft draft(steps_of_cluster(body, kLeastRow));
  TileSizes sizes(draft);
  sizes.choose();
  choose_phases(draft);
  find_last_reads(draft.steps);
  // Machine code that is made later uses the same memory.
  const size_t of_code = sizes.memory_of_code();
  if (!PlanWriter(draft).run()) return nullptr;
  draft.plan->thread_bytes = std::max(draft.plan->thread_bytes, of_code);
  return draft.plan;
}

std::shared_ptr<const ClusterPlan> plan_coded_cluster(const Program& body,
                                                      const ClusterPlan& plain) {
  auto coded = plan_with_code(body);
  if (!coded) return nullptr;
  const bool fits =
      coded->scalars_bytes <= plain.scalars_bytes && coded->thread_bytes <= plain.thread_bytes;
  const bool shares = std::ranges::all_of(plain.in_place, [&](const auto& pair) {
    return std::ranges::find(coded->in_place, pair) != coded->in_place.end();
  });
  return fits && shares ? coded : nullptr;
}

}  // namespace farcall::native
