#include "engine/native/jit/allocate.h"

#include <algorithm>
#include <bit>

namespace farcall::native::jit {
namespace {

constexpr int32_t kNever = -1;

// An instruction reads its arguments at an even position and writes its result at the next odd one.
struct Interval {
  Reg reg = 0;
  int32_t begin = kNever, end = kNever;
  double weight = 0;  // of its uses; those in loops weigh more
  Reg hint = kNoReg;  // a register whose place would save a move

  double density() const { return weight / (end - begin + 1); }
};

std::vector<Interval> intervals_of(const Code& code) {
  struct Loop {
    int32_t begin;
    std::vector<Reg> from_before;
  };
  std::vector<Interval> intervals(code.regs.size());
  std::vector<Loop> open;
  double weight = 1;
  const auto touch = [&](Reg reg, int32_t at) {
    Interval& interval = intervals[reg];
    interval.reg = reg;
    if (interval.begin == kNever) interval.begin = at;
    interval.end = std::max(interval.end, at);
    interval.weight += weight;
    const auto outermost =
        std::ranges::find_if(open, [&](const Loop& loop) { return interval.begin < loop.begin; });
    if (outermost != open.end()) outermost->from_before.push_back(reg);
  };
  for (size_t i = 0; i < code.insts.size(); ++i) {
    const Inst& inst = code.insts[i];
    const auto at = static_cast<int32_t>(2 * i);
    if (inst.op == Op::kLoopBegin) {
      open.push_back({at, {}});
      weight *= 8;
    } else if (inst.op == Op::kLoopEnd) {
      for (const Reg reg : open.back().from_before) {
        intervals[reg].end = std::max(intervals[reg].end, at);
      }
      open.pop_back();
      weight /= 8;
    }
    for (const Arg& arg : inst.args) {
      if (arg.is_reg()) touch(arg.as_reg(), at);
    }
    if (inst.dest == kNoReg) continue;
    touch(inst.dest, at + 1);
    Interval& result = intervals[inst.dest];
    if (result.hint == kNoReg && inst.args[0].is_reg()) result.hint = inst.args[0].as_reg();
  }
  std::erase_if(intervals, [](const Interval& interval) { return interval.begin == kNever; });
  std::ranges::sort(intervals, {}, &Interval::begin);
  return intervals;
}

class Bankful {
 public:
  Bankful(const Code& code, Allocation& allocation, int count)
      : code_(code), allocation_(allocation), is_free_(static_cast<size_t>(count), true) {}

  // The registers that were ever taken are the first ones.
  int32_t num_taken() const { return num_taken_; }

  void place(const Interval& interval) {
    std::erase_if(active_, [&](const Interval& other) {
      if (other.end > interval.begin) return false;
      is_free_[static_cast<size_t>(allocation_.locations[other.reg].index)] = true;
      return true;
    });
    const auto free = find_free(interval);
    if (free != is_free_.end()) {
      *free = false;
      return take(interval, static_cast<int32_t>(free - is_free_.begin()));
    }
    const auto least = std::ranges::min_element(active_, {}, &Interval::density);
    if (least == active_.end() || least->density() >= interval.density()) return spill(interval);
    const Interval other = *least;
    active_.erase(least);
    const int32_t index = allocation_.locations[other.reg].index;
    spill(other);
    take(interval, index);
  }

 private:
  std::vector<bool>::iterator find_free(const Interval& interval) {
    if (interval.hint != kNoReg &&
        code_.regs[interval.hint].bank == code_.regs[interval.reg].bank) {
      const Location near = allocation_.locations[interval.hint];
      if (near.kind == Location::Kind::kRegister) {
        const auto at = is_free_.begin() + near.index;
        if (*at) return at;
      }
    }
    return std::ranges::find(is_free_, true);
  }
  void take(const Interval& interval, int32_t index) {
    allocation_.locations[interval.reg] = {Location::Kind::kRegister, index};
    num_taken_ = std::max(num_taken_, index + 1);
    active_.push_back(interval);
  }
  void spill(const Interval& interval) {
    const RegType type = code_.regs[interval.reg];
    const auto bytes = static_cast<int32_t>(
        type.bank == Bank::kGeneral
            ? 8
            : std::bit_ceil(static_cast<unsigned>(std::max(type.bytes(), 16))));
    // Reuses a slot that is free since before the interval, or adds one.
    const auto slot = std::ranges::find_if(
        slots_, [&](const Slot& each) { return each.bytes == bytes && each.end < interval.begin; });
    if (slot != slots_.end()) {
      slot->end = interval.end;
      allocation_.locations[interval.reg] = {Location::Kind::kStack, slot->offset};
      return;
    }
    allocation_.stack_bytes = (allocation_.stack_bytes + bytes - 1) / bytes * bytes;
    allocation_.locations[interval.reg] = {Location::Kind::kStack, allocation_.stack_bytes};
    slots_.push_back({allocation_.stack_bytes, bytes, interval.end});
    allocation_.stack_bytes += bytes;
  }

  struct Slot {
    int32_t offset, bytes, end;  // end of the last interval in it
  };

  const Code& code_;
  Allocation& allocation_;
  std::vector<bool> is_free_;
  int32_t num_taken_ = 0;
  std::vector<Interval> active_;
  std::vector<Slot> slots_;
};

}  // namespace

Allocation allocate(const Code& code, int num_general, int num_vector, int num_mask) {
  Allocation allocation;
  allocation.locations.resize(code.regs.size());
  Bankful general(code, allocation, num_general), vector(code, allocation, num_vector),
      mask(code, allocation, num_mask);
  for (const Interval& interval : intervals_of(code)) {
    const Bank bank = code.regs[interval.reg].bank;
    Bankful& registers = bank == Bank::kGeneral                 ? general
                         : bank == Bank::kMask && num_mask != 0 ? mask
                                                                : vector;
    registers.place(interval);
  }
  allocation.num_vectors = vector.num_taken();
  return allocation;
}

}  // namespace farcall::native::jit
