// Builds a Code. Hoists loop-invariant instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <unordered_map>
#include <vector>

#include "engine/native/jit/ir.h"

namespace farcall::native::jit {

class Builder {
 public:
  Builder() { blocks_.push_back({}); }

  size_t num_regs() const { return regs_.size(); }
  // new_reg: a register that may change in the current loop; new_carry: one that may change in the
  // loop that begins next.
  Reg new_reg(RegType type) { return new_reg_at(type, level()); }
  Reg new_carry(RegType type) { return new_reg_at(type, level() + 1); }
  // Marks a register that no longer changes, after the loop that changed it.
  void settle(Reg reg) { levels_[reg] = level(); }

  // Adds a pure instruction and returns its result.
  Arg add(Inst inst);
  Arg add(Op op, RegType type, std::initializer_list<Arg> args, int64_t imm = 0);
  // Assigns to a register that may change.
  void move(Reg to, RegType type, Arg from);
  void store(Arg address, RegType type, int bytes, Arg value);
  // Adds an instruction without a result at the current position.
  void effect(Inst inst) { blocks_.back().insts.push_back(inst); }

  // ---- integers and bools; constants are folded
  Arg compare(Cond cond, RegType source, Arg x, Arg y);
  Arg select(RegType type, Arg condition, Arg if_false, Arg if_true);

  // ---- floats and lanes; `type` is that of the args x and y
  Arg float_compare(Cond cond, RegType type, Arg x, Arg y);
  Arg lane_compare(Op op, RegType type, Arg x, Arg y);
  Arg blend(RegType type, Arg mask, Arg if_false, Arg if_true) {
    if (type.bank != Bank::kMask) return add(Op::kBlend, type, {mask, if_false, if_true});
    // AVX-512 has no blend of masks: the bits that differ are changed where the mask is set.
    const Arg differs = add(Op::kMaskXor, type, {if_false, if_true});
    return add(Op::kMaskXor, type, {if_false, add(Op::kMaskAnd, type, {mask, differs})});
  }
  // Conversions between bools and masks. mask_of_bool undoes bool_of_mask.
  Arg bool_of_mask(int width, Arg mask);  // of one lane
  Arg mask_of_bool(RegType type, Arg condition);

  // ---- structure
  uint32_t new_label() { return num_labels_++; }
  void label(uint32_t label) { effect({.op = Op::kLabel, .imm = label}); }
  void jump(uint32_t label) { effect({.op = Op::kJump, .imm = label}); }
  void branch(Cond cond, RegType source, Arg x, Arg y, uint32_t label);
  // Jumps if the bool is true.
  void branch_if(Arg condition, uint32_t label);
  // The instructions between these are repeated.
  void begin_loop();
  void end_loop();

  // Removes instructions whose results are unused.
  Code finish();

 private:
  // The instructions of one loop's body.
  struct Block {
    std::vector<Inst> insts;
  };
  struct Comparison {
    Cond cond;
    RegType source;
    Arg x, y;
  };

  uint32_t level() const { return static_cast<uint32_t>(blocks_.size()) - 1; }
  Reg new_reg_at(RegType type, uint32_t level);

  std::vector<Block> blocks_;  // of the function, then of each open loop
  std::vector<RegType> regs_;
  std::vector<uint32_t> levels_;  // by register: the depth of the loop that it may change in
  std::unordered_map<Reg, Comparison> comparisons_;  // by the bool
  std::unordered_map<Reg, Reg> masks_;               // by the bool
  uint32_t num_labels_ = 0;
};

}  // namespace farcall::native::jit
