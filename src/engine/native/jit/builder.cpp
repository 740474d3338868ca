#include "engine/native/jit/builder.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace farcall::native::jit {
namespace {

int64_t with_sign(uint64_t bits, int width) {
  return width == 4 ? static_cast<int32_t>(static_cast<uint32_t>(bits))
                    : static_cast<int64_t>(bits);
}

uint64_t cut(uint64_t bits, int width) { return width == 4 ? static_cast<uint32_t>(bits) : bits; }

bool holds(Cond cond, uint64_t x, uint64_t y, int width) {
  const int64_t a = with_sign(x, width), b = with_sign(y, width);
  switch (cond) {
    case Cond::kEq:
      return a == b;
    case Cond::kNe:
      return a != b;
    case Cond::kLt:
      return a < b;
    case Cond::kLe:
      return a <= b;
    case Cond::kGt:
      return a > b;
    case Cond::kGe:
      return a >= b;
    case Cond::kBelow:
      return x < y;
    case Cond::kBelowOrEqual:
      return x <= y;
    case Cond::kAbove:
      return x > y;
    default:
      return x >= y;
  }
}

// The result of an operation on constant integers, if it can be computed here.
std::optional<uint64_t> folded(const Inst& inst) {
  if (inst.type.bank != Bank::kGeneral) return std::nullopt;
  for (const Arg& arg : inst.args) {
    if (arg.is_reg()) return std::nullopt;
  }
  const uint64_t x = inst.args[0].bits, y = inst.args[1].bits;
  const int width = inst.type.width;
  switch (inst.op) {
    case Op::kAdd:
      return cut(x + y, width);
    case Op::kSub:
      return cut(x - y, width);
    case Op::kMul:
      return cut(x * y, width);
    case Op::kAnd:
      return x & y;
    case Op::kOr:
      return cut(x | y, width);
    case Op::kXor:
      return x ^ y;
    case Op::kNot:
      return cut(~x, width);
    case Op::kNeg:
      return cut(0 - x, width);
    case Op::kSign: {
      const int64_t value = with_sign(x, width);
      return cut(static_cast<uint64_t>((value > 0) - (value < 0)), width);
    }
    case Op::kSignExtend:
      return static_cast<uint64_t>(with_sign(x, 4));
    case Op::kCompare:
      return holds(inst.cond, x, y, inst.source.width);
    case Op::kSelect:
      return holds(inst.cond, x, y, inst.source.width) ? inst.args[3].bits : inst.args[2].bits;
    default:
      return std::nullopt;
  }
}

}  // namespace

Reg Builder::new_reg_at(RegType type, uint32_t level) {
  regs_.push_back(type);
  levels_.push_back(level);
  return static_cast<Reg>(regs_.size() - 1);
}

Arg Builder::add(Inst inst) {
  if (const auto known = folded(inst)) return Arg::constant(*known);
  uint32_t where = 0;
  for (const Arg& arg : inst.args) {
    if (arg.is_reg()) where = std::max(where, levels_[arg.as_reg()]);
  }
  where = std::min(where, level());
  inst.dest = new_reg_at(inst.type, where);
  blocks_[where].insts.push_back(inst);
  return Arg::reg(inst.dest);
}

Arg Builder::add(Op op, RegType type, std::initializer_list<Arg> args, int64_t imm) {
  Inst inst{.op = op, .type = type, .source = type, .imm = imm};
  std::ranges::copy(args, inst.args.begin());
  return add(inst);
}

void Builder::move(Reg to, RegType type, Arg from) {
  effect({.op = Op::kMove, .type = type, .dest = to, .args = {from}});
}

void Builder::store(Arg address, RegType type, int bytes, Arg value) {
  effect({.op = Op::kStore,
          .bytes = static_cast<uint8_t>(bytes),
          .type = type,
          .args = {address, value}});
}

Arg Builder::compare(Cond cond, RegType source, Arg x, Arg y) {
  const Arg result =
      add({.op = Op::kCompare, .cond = cond, .type = general(4), .source = source, .args = {x, y}});
  if (result.is_reg()) comparisons_[result.as_reg()] = {cond, source, x, y};
  return result;
}

Arg Builder::select(RegType type, Arg condition, Arg if_false, Arg if_true) {
  if (condition.is_const()) return condition.bits != 0 ? if_true : if_false;
  if (type.bank == Bank::kVector) {
    return blend(type, mask_of_bool(mask_of(type), condition), if_false, if_true);
  }
  Comparison made{Cond::kNe, general(4), condition, Arg::constant(0)};
  // Repeats the comparison that made the bool, which may then be unused.
  if (const auto found = comparisons_.find(condition.as_reg()); found != comparisons_.end()) {
    made = found->second;
  }
  return add({.op = Op::kSelect,
              .cond = made.cond,
              .type = type,
              .source = made.source,
              .args = {made.x, made.y, if_false, if_true}});
}

Arg Builder::float_compare(Cond cond, RegType type, Arg x, Arg y) {
  return add({.op = Op::kFloatCompare,
              .cond = cond,
              .type = mask_of(type),
              .source = type,
              .args = {x, y}});
}

Arg Builder::lane_compare(Op op, RegType type, Arg x, Arg y) {
  return add({.op = op, .type = mask_of(type), .source = type, .args = {x, y}});
}

Arg Builder::bool_of_mask(int width, Arg mask_arg) {
  const Arg result = add(
      {.op = Op::kBoolOfMask, .type = general(4), .source = mask(width, 1), .args = {mask_arg}});
  masks_[result.as_reg()] = mask_arg.as_reg();
  return result;
}

Arg Builder::mask_of_bool(RegType type, Arg condition) {
  if (condition.is_const()) {
    return Arg::constant(condition.bits == 0 ? 0 : cut(~uint64_t{0}, type.width));
  }
  const auto found = masks_.find(condition.as_reg());
  if (found != masks_.end() && regs_[found->second] == type) return Arg::reg(found->second);
  return add(Op::kMaskOfBool, type, {condition});
}

void Builder::branch(Cond cond, RegType source, Arg x, Arg y, uint32_t label) {
  effect({.op = Op::kBranch,
          .cond = cond,
          .type = source,
          .source = source,
          .args = {x, y},
          .imm = label});
}

void Builder::branch_if(Arg condition, uint32_t label) {
  if (condition.is_const()) {
    if (condition.bits != 0) jump(label);
    return;
  }
  const auto found = comparisons_.find(condition.as_reg());
  if (found == comparisons_.end()) {
    return branch(Cond::kNe, general(4), condition, Arg::constant(0), label);
  }
  const Comparison& made = found->second;
  branch(made.cond, made.source, made.x, made.y, label);
}

void Builder::begin_loop() {
  blocks_.push_back({});
  effect({.op = Op::kLoopBegin});
}

void Builder::end_loop() {
  effect({.op = Op::kLoopEnd});
  std::vector<Inst> body = std::move(blocks_.back().insts);
  blocks_.pop_back();
  std::ranges::move(body, std::back_inserter(blocks_.back().insts));
}

Code Builder::finish() {
  std::vector<Inst>& all = blocks_.front().insts;
  // Registers that a loop changes may be read earlier in the code, so all reads are counted first.
  std::vector<uint32_t> num_readers(regs_.size(), 0);
  const auto count = [&](const Inst& inst, int by) {
    for (const Arg& arg : inst.args) {
      if (arg.is_reg()) num_readers[arg.as_reg()] += static_cast<uint32_t>(by);
    }
  };
  for (const Inst& inst : all) count(inst, 1);
  std::vector<Inst> kept;
  kept.reserve(all.size());
  for (size_t i = all.size(); i-- > 0;) {
    if (all[i].is_pure() && num_readers[all[i].dest] == 0) {
      count(all[i], -1);
    } else {
      kept.push_back(all[i]);
    }
  }
  std::ranges::reverse(kept);
  return {std::move(regs_), std::move(kept), num_labels_};
}

}  // namespace farcall::native::jit
