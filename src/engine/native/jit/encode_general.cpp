// Integers, bools and addresses.
#include <bit>

#include "engine/native/jit/assembler.h"

namespace farcall::native::jit {
namespace {

bool holds_register(const Arg& arg, Location location, const Allocation& allocation,
                    const Code& code) {
  if (!arg.is_reg() || code.regs[arg.as_reg()].bank != Bank::kGeneral) return false;
  const Location other = allocation.locations[arg.as_reg()];
  return other.kind == Location::Kind::kRegister && other.index == location.index;
}

}  // namespace

Assembler::General Assembler::sized(const General& reg, int width) {
  return width == 8 ? General(Xbyak::Reg64(reg.getIdx())) : General(Xbyak::Reg32(reg.getIdx()));
}

Assembler::General Assembler::register_of(Reg reg, int width) const {
  // Registers that calls do not preserve come first.
  constexpr int kNumbers[] = {6, 7, 8, 9, 10, 11, 3, 12, 13, 14, 15};
  const int number = kNumbers[where(reg).index];
  return width == 8 ? General(Xbyak::Reg64(number)) : General(Xbyak::Reg32(number));
}

// Does not change the flags.
void Assembler::load(const General& target, const Arg& arg) {
  const int width = target.getBit() / 8;
  if (arg.is_const()) {
    if (width == 8 && arg.bits > UINT32_MAX) {
      mov(target, arg.bits);
    } else {
      mov(sized(target, 4), static_cast<uint32_t>(arg.bits));
    }
  } else if (!is_in_register(arg)) {
    mov(target, slot(arg.as_reg()));
  } else if (const General from = register_of(arg.as_reg(), width); from != target) {
    mov(target, from);
  }
}

Assembler::General Assembler::in_register(const Arg& arg, int width, const General& spare) {
  if (is_in_register(arg)) return register_of(arg.as_reg(), width);
  const General target = sized(spare, width);
  load(target, arg);
  return target;
}

Assembler::General Assembler::target(const Inst& inst, std::initializer_list<Arg> avoid) {
  const Location location = where(inst.dest);
  bool is_free = location.kind == Location::Kind::kRegister;
  for (const Arg& arg : avoid) is_free &= !holds_register(arg, location, allocation_, code_);
  return is_free ? register_of(inst.dest, inst.type.width) : sized(rax, inst.type.width);
}

void Assembler::finish(const Inst& inst, const General& made) {
  const General whole = sized(made, inst.type.width);
  const Location location = where(inst.dest);
  if (location.kind == Location::Kind::kStack) {
    // Writes a whole register, whose upper half is zero.
    mov(slot(inst.dest), sized(made, 8));
  } else if (location.kind == Location::Kind::kRegister) {
    const General to = register_of(inst.dest, inst.type.width);
    if (to != whole) mov(to, whole);
  }
}

void Assembler::compare(const Inst& inst) {
  const int width = inst.source.width;
  const General x = in_register(inst.args[0], width, rax);
  with_operand(inst.args[1], width, rcx, [&](const auto& y) { cmp(x, y); });
}

void Assembler::jump_if(Cond cond, const Xbyak::Label& label) {
  switch (cond) {
    case Cond::kEq:
      return je(label, T_NEAR);
    case Cond::kNe:
      return jne(label, T_NEAR);
    case Cond::kLt:
      return jl(label, T_NEAR);
    case Cond::kLe:
      return jle(label, T_NEAR);
    case Cond::kGt:
      return jg(label, T_NEAR);
    case Cond::kGe:
      return jge(label, T_NEAR);
    case Cond::kBelow:
      return jb(label, T_NEAR);
    case Cond::kBelowOrEqual:
      return jbe(label, T_NEAR);
    case Cond::kAbove:
      return ja(label, T_NEAR);
    default:
      return jae(label, T_NEAR);
  }
}

void Assembler::set_if(Cond cond, const Xbyak::Reg8& target) {
  switch (cond) {
    case Cond::kEq:
      return sete(target);
    case Cond::kNe:
      return setne(target);
    case Cond::kLt:
      return setl(target);
    case Cond::kLe:
      return setle(target);
    case Cond::kGt:
      return setg(target);
    case Cond::kGe:
      return setge(target);
    case Cond::kBelow:
      return setb(target);
    case Cond::kBelowOrEqual:
      return setbe(target);
    case Cond::kAbove:
      return seta(target);
    default:
      return setae(target);
  }
}

void Assembler::move_if(Cond cond, const General& target, const Operand& from) {
  switch (cond) {
    case Cond::kEq:
      return cmove(target, from);
    case Cond::kNe:
      return cmovne(target, from);
    case Cond::kLt:
      return cmovl(target, from);
    case Cond::kLe:
      return cmovle(target, from);
    case Cond::kGt:
      return cmovg(target, from);
    case Cond::kGe:
      return cmovge(target, from);
    case Cond::kBelow:
      return cmovb(target, from);
    case Cond::kBelowOrEqual:
      return cmovbe(target, from);
    case Cond::kAbove:
      return cmova(target, from);
    default:
      return cmovae(target, from);
  }
}

bool Assembler::emit_general(const Inst& inst) {
  const auto& args = inst.args;
  const int width = inst.type.width;
  const auto arithmetic = [&](auto operation) {
    const General made = target(inst, {args[1]});
    load(made, args[0]);
    with_operand(args[1], width, rcx, [&](const auto& y) { operation(made, y); });
    finish(inst, made);
    return true;
  };
  switch (inst.op) {
    case Op::kMove: {
      const General made = target(inst, {});
      load(made, args[0]);
      finish(inst, made);
      return true;
    }
    case Op::kAdd:
      return arithmetic([this](const General& x, const auto& y) { add(x, y); });
    case Op::kSub:
      return arithmetic([this](const General& x, const auto& y) { sub(x, y); });
    case Op::kAnd:
      return arithmetic([this](const General& x, const auto& y) { and_(x, y); });
    case Op::kOr:
      return arithmetic([this](const General& x, const auto& y) { or_(x, y); });
    case Op::kXor:
      return arithmetic([this](const General& x, const auto& y) { xor_(x, y); });
    case Op::kMul: {
      const General made = target(inst, {args[1]});
      load(made, args[0]);
      imul(made, in_register(args[1], width, rcx));
      finish(inst, made);
      return true;
    }
    case Op::kCompare:
      compare(inst);
      set_if(inst.cond, al);
      movzx(eax, al);
      finish(inst, eax);
      return true;
    case Op::kSelect: {
      compare(inst);
      const General made = target(inst, {args[3]});
      load(made, args[2]);
      move_if(inst.cond, made, in_register(args[3], width, rcx));
      finish(inst, made);
      return true;
    }
    case Op::kSignExtend: {
      const General made = target(inst, {});
      movsxd(Xbyak::Reg64(made.getIdx()), in_register(args[0], 4, rcx).cvt32());
      finish(inst, made);
      return true;
    }
    case Op::kNeg:
    case Op::kNot:
    case Op::kAbs:
    case Op::kSign:
    case Op::kPopulationCount:
    case Op::kCountLeadingZeros:
      emit_unary(inst);
      return true;
    default:
      return emit_division(inst) || emit_shift(inst);
  }
}

void Assembler::emit_unary(const Inst& inst) {
  const int width = inst.type.width;
  const General a = sized(rax, width), c = sized(rcx, width), d = sized(rdx, width);
  load(a, inst.args[0]);
  switch (inst.op) {
    case Op::kNeg:
      neg(a);
      break;
    case Op::kNot:
      not_(a);
      break;
    case Op::kAbs:
      mov(c, a);
      neg(a);
      cmovs(a, c);
      break;
    case Op::kSign:
      mov(c, a);
      sar(c, width * 8 - 1);
      xor_(edx, edx);
      test(a, a);
      setg(dl);
      or_(c, d);
      mov(a, c);
      break;
    case Op::kPopulationCount:
      popcnt(a, a);
      break;
    default:
      lzcnt(a, a);
  }
  finish(inst, a);
}

// Divides by a constant power of two: adds a correction for negative numbers and shifts.
void Assembler::divide_by_power(const Inst& inst, uint64_t divisor) {
  const int width = inst.type.width, bits = width * 8, power = std::countr_zero(divisor);
  const General a = sized(rax, width), c = sized(rcx, width);
  const bool is_rem = inst.op == Op::kRem;
  load(a, inst.args[0]);
  if (power == 0) {
    if (is_rem) xor_(eax, eax);
    return finish(inst, a);
  }
  mov(c, a);
  if (power > 1) sar(c, bits - 1);
  shr(c, bits - power);
  if (!is_rem) {
    add(a, c);
    sar(a, power);
    return finish(inst, a);
  }
  add(a, c);
  if (power < 32) {
    and_(a, static_cast<uint32_t>(divisor - 1));
  } else {
    mov(rdx, divisor - 1);
    and_(a, rdx);
  }
  sub(a, c);
  finish(inst, a);
}

bool Assembler::emit_division(const Inst& inst) {
  const bool is_signed = inst.op == Op::kDiv || inst.op == Op::kRem;
  const bool is_rem = inst.op == Op::kRem || inst.op == Op::kUnsignedRem;
  if (!is_signed && !is_rem && inst.op != Op::kUnsignedDiv) return false;
  const int width = inst.type.width;
  const General a = sized(rax, width), c = sized(rcx, width), d = sized(rdx, width);
  const Arg& divisor = inst.args[1];
  const uint64_t sign = uint64_t{1} << (width * 8 - 1), all = sign | (sign - 1);
  if (is_signed && divisor.is_const() && std::has_single_bit(divisor.bits) &&
      divisor.bits != sign) {
    divide_by_power(inst, divisor.bits);
    return true;
  }
  // Tests for 0 and -1 are omitted if the divisor is known to be neither.
  const bool may_be_zero = !divisor.is_const() || divisor.bits == 0;
  const bool may_be_minus = is_signed && (!divisor.is_const() || divisor.bits == all);
  Xbyak::Label zero, minus, done;
  load(a, inst.args[0]);
  load(c, divisor);
  if (may_be_zero) {
    test(c, c);
    jz(zero, T_NEAR);
  }
  if (may_be_minus) {
    cmp(c, static_cast<uint32_t>(-1));
    je(minus, T_NEAR);
  }
  if (!is_signed) {
    xor_(edx, edx);
    div(c);
  } else {
    if (width == 8) {
      cqo();
    } else {
      cdq();
    }
    idiv(c);
  }
  if (is_rem) mov(a, d);
  if (may_be_zero || may_be_minus) jmp(done, T_NEAR);
  if (may_be_zero) {
    L(zero);
    if (!is_rem) load(a, Arg::constant(all));
    if (may_be_minus) jmp(done, T_NEAR);
  }
  if (may_be_minus) {
    L(minus);
    if (is_rem) {
      xor_(eax, eax);
    } else {
      neg(a);
    }
  }
  L(done);
  finish(inst, a);
  return true;
}

bool Assembler::emit_shift(const Inst& inst) {
  const bool is_signed = inst.op == Op::kShiftRightSigned;
  if (!is_signed && inst.op != Op::kShiftLeft && inst.op != Op::kShiftRight) return false;
  const int width = inst.type.width;
  const auto bits = static_cast<uint32_t>(width * 8);
  const General a = sized(rax, width), c = sized(rcx, width), d = sized(rdx, width);
  load(a, inst.args[0]);
  if (inst.args[1].is_const()) {
    const uint64_t count = inst.args[1].bits;
    if (is_signed) {
      sar(a, static_cast<int>(count < bits ? count : bits - 1));
    } else if (count >= bits) {
      xor_(eax, eax);
    } else if (inst.op == Op::kShiftLeft) {
      shl(a, static_cast<int>(count));
    } else {
      shr(a, static_cast<int>(count));
    }
    finish(inst, a);
    return true;
  }
  load(c, inst.args[1]);
  cmp(c, bits);
  if (is_signed) {
    mov(edx, bits - 1);
    cmovae(c, d);
    sar(a, cl);
  } else {
    mov(edx, 0);
    cmovae(a, d);
    if (inst.op == Op::kShiftLeft) {
      shl(a, cl);
    } else {
      shr(a, cl);
    }
  }
  finish(inst, a);
  return true;
}

}  // namespace farcall::native::jit
