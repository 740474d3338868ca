#include "engine/native/kernels/clusters/tile_memory.h"

#include <algorithm>
#include <vector>

#include "engine/native/arena.h"

namespace farcall::native {
namespace {

class TileMemory {
 public:
  explicit TileMemory(ClusterDraft& draft) : draft_(draft) {}

  void run() {
    size_t scalars = 0;
    // Values that last for the whole run are kept apart from those that each tile overwrites.
    for (const TileDraft& draft : drafts_) {
      TileRegister& made = registers_[draft.output];
      if (made.home != TileRegister::Home::kScratch || made.same_as) continue;
      if (draft.phase == TilePhase::kOnce) {
        made.offset = static_cast<uint32_t>(scalars);
        scalars += kMaxComputeWidth;
      } else if (draft.phase == TilePhase::kPerThread && !draft.is_left_out) {
        made.offset = static_cast<uint32_t>(arena_.allocate(bytes_of(made)));
      }
    }
    for (size_t i = 0; i < drafts_.size(); ++i) {
      if (drafts_[i].phase != TilePhase::kPerTile || drafts_[i].is_left_out) continue;
      const CodedRun* const run = draft_.run_of(i);
      if (!run) {
        place_output(i);
      } else if (run->steps.front() == i) {
        place_results(*run);
      }
    }
    plan_.scalars_bytes = memory_of(scalars);
    plan_.thread_bytes = arena_.size();
    if (plan_.column_reduction) {
      ClusterPlan::ColumnReduction& reduction = *plan_.column_reduction;
      reduction.rows_offset = memory_of(plan_.thread_bytes);
      plan_.thread_bytes =
          reduction.rows_offset +
          static_cast<size_t>(reduction.rows_at_once * plan_.tile_columns) * reduction.width;
    }
  }

 private:
  size_t bytes_of(const TileRegister& each) const {
    return static_cast<size_t>(draft_.multiple(each.extent)) * each.width;
  }

  // A result may overwrite an operand that is read for the last time: the run reads elements before
  // it writes the same ones.
  void place_results(const CodedRun& run) {
    std::vector<size_t> dying, made;
    for (size_t i = 0; i < run.registers.size(); ++i) {
      const size_t number = run.registers[i];
      const TileRegister& each = registers_[number];
      const jit::TileValue& value = run.code.values[i];
      if (each.home != TileRegister::Home::kScratch || !value.pointer) continue;
      if (value.source == jit::TileValue::Source::kMade) {
        made.push_back(number);
      } else if (drafts_[each.made_by].phase == TilePhase::kPerTile && each.last_read != kNoStep &&
                 draft_.run_of(each.last_read) == &run) {
        dying.push_back(number);
      }
    }
    for (const size_t number : made) {
      TileRegister& each = registers_[number];
      const auto same = std::ranges::find_if(dying, [&](size_t other) {
        return registers_[other].extent == Extent::kFull && registers_[other].width == each.width;
      });
      if (same != dying.end()) {
        each.offset = registers_[*same].offset;
        dying.erase(same);
      } else {
        each.offset = static_cast<uint32_t>(arena_.allocate(bytes_of(each)));
      }
    }
    if (run.parts_of_sum) {
      TileRegister& parts = registers_[*run.parts_of_sum];
      parts.offset = static_cast<uint32_t>(arena_.allocate(bytes_of(parts)));
    }
    for (const size_t number : dying) {
      arena_.release(registers_[number].offset, bytes_of(registers_[number]));
    }
  }

  bool dies_at(size_t number, size_t step) const {
    const TileRegister& each = registers_[number];
    return each.home == TileRegister::Home::kScratch && each.last_read == step &&
           drafts_[each.made_by].phase == TilePhase::kPerTile;
  }

  // A loop may overwrite an operand that is read for the last time.
  void place_output(size_t step) {
    const TileDraft& draft = drafts_[step];
    TileRegister& made = registers_[draft.output];
    std::vector<size_t> dying;
    for (const size_t input : draft.inputs) {
      const size_t number = owner(registers_, input);
      if (dies_at(number, step) && std::ranges::find(dying, number) == dying.end()) {
        dying.push_back(number);
      }
    }
    if (made.home == TileRegister::Home::kScratch) {
      const auto same = std::ranges::find_if(dying, [&](size_t number) {
        const TileRegister& each = registers_[number];
        return draft.kind == TileStep::Kind::kLoop && each.extent == made.extent &&
               each.width == made.width;
      });
      if (same != dying.end()) {
        made.offset = registers_[*same].offset;
        dying.erase(same);
      } else {
        made.offset = static_cast<uint32_t>(arena_.allocate(bytes_of(made)));
      }
    }
    for (const size_t number : dying) {
      arena_.release(registers_[number].offset, bytes_of(registers_[number]));
    }
    if (made.home == TileRegister::Home::kScratch && made.last_read == kNoStep) {
      arena_.release(made.offset, bytes_of(made));
    }
  }

  ClusterDraft& draft_;
  ClusterPlan& plan_ = *draft_.plan;
  std::vector<TileRegister>& registers_ = draft_.steps.registers;
  const std::vector<TileDraft>& drafts_ = draft_.steps.drafts;
  Arena arena_;
};

}  // namespace

void place_registers(ClusterDraft& draft) { TileMemory(draft).run(); }

}  // namespace farcall::native
