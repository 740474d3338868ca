// Instructions on floats and lanes. Operations on one lane ignore the contents of the others.
#include <bit>
#include <cmath>

#include "engine/native/jit/assembler.h"

namespace farcall::native::jit {
namespace {

// The processor's predicates of comparisons. None of them signals for quiet NaNs.
uint8_t predicate(Cond cond) {
  switch (cond) {
    case Cond::kEq:
      return 0;
    case Cond::kNe:
      return 4;
    case Cond::kLt:
      return 17;
    case Cond::kLe:
      return 18;
    case Cond::kGt:
      return 30;
    case Cond::kGe:
      return 29;
    default:
      return 3;  // unordered: an operand is NaN
  }
}

uint64_t bits_of(double value, int width) {
  return width == 8 ? std::bit_cast<uint64_t>(value)
                    : std::bit_cast<uint32_t>(static_cast<float>(value));
}

}  // namespace

Assembler::Vector Assembler::sized(int index, RegType type) {
  return type.bytes() > 16 ? Vector(Xbyak::Ymm(index)) : Vector(index);
}

Assembler::Vector Assembler::vector_of(Reg reg, RegType type) const {
  return sized(3 + where(reg).index, type);
}

// Emits a mask of the first `bytes` bytes.
void Assembler::first_bytes(RegType type, int bytes) {
  for (int i = 0; i < type.bytes(); i += 4) dd(i < bytes ? UINT32_MAX : 0);
}

void Assembler::load_vector(const Vector& target, const Xbyak::Address& address, RegType type,
                            int bytes) {
  const Vector low(target.getIdx());
  if (bytes == 4) return vmovss(low, address);
  if (bytes == 8) return vmovsd(low, address);
  if (bytes == 16) return vmovups(low, address);
  if (bytes == 32) return vmovups(target, address);
  // The remaining lanes become zero.
  Xbyak::Label mask, after;
  vmovups(sized(2, type), ptr[rip + mask]);
  jmp(after);
  align(4);
  L(mask);
  first_bytes(type, bytes);
  L(after);
  vmaskmovps(target, sized(2, type), address);
}

void Assembler::store_vector(const Xbyak::Address& address, const Vector& from, int bytes) {
  const Vector low(from.getIdx());
  if (bytes == 4) return vmovss(address, low);
  if (bytes == 8) return vmovsd(address, low);
  if (bytes == 16) return vmovups(address, low);
  if (bytes == 32) return vmovups(address, from);
  const RegType type = vector(4, bytes > 16 ? 8 : 4);
  Xbyak::Label mask, after;
  vmovups(sized(2, type), ptr[rip + mask]);
  jmp(after);
  align(4);
  L(mask);
  first_bytes(type, bytes);
  L(after);
  vmaskmovps(address, sized(2, type), sized(from.getIdx(), type));
}

Assembler::Vector Assembler::in_vector(const Arg& arg, RegType type, int spare) {
  if (is_in_register(arg)) return vector_of(arg.as_reg(), type);
  const Vector target = sized(spare, type);
  if (arg.is_const() && arg.bits == 0) {
    vxorps(target, target, target);
  } else {
    with_vector_operand(arg, type, [&](const Operand& from) {
      if (type.bytes() > 8) {
        vmovups(target, from);
      } else if (type.width == 4) {
        vmovss(target, static_cast<const Xbyak::Address&>(from));
      } else {
        vmovsd(target, static_cast<const Xbyak::Address&>(from));
      }
    });
  }
  return target;
}

Assembler::Vector Assembler::vector_target(const Inst& inst) const {
  return where(inst.dest).kind == Location::Kind::kRegister ? vector_of(inst.dest, inst.type)
                                                            : sized(0, inst.type);
}

void Assembler::finish(const Inst& inst, const Vector& made) {
  const Location location = where(inst.dest);
  if (location.kind == Location::Kind::kStack) {
    vmovups(slot(inst.dest), made);
  } else if (location.kind == Location::Kind::kRegister) {
    const Vector to = vector_of(inst.dest, inst.type);
    if (to.getIdx() != made.getIdx()) vmovaps(to, sized(made.getIdx(), inst.type));
  }
}

void Assembler::emit_binary(const Inst& inst, const Forms& forms) {
  const bool is_float = inst.type.width == 4;
  const Binary one = is_float ? forms.ss : forms.sd, all = is_float ? forms.ps : forms.pd;
  const Vector x = in_vector(inst.args[0], inst.type, 1), made = vector_target(inst);
  with_vector_operand(inst.args[1], inst.type, [&](const Operand& y) {
    (this->*(inst.type.lanes == 1 ? one : all))(made, x, y);
  });
  finish(inst, made);
}

void Assembler::multiply_add(const Inst& inst) {
  const bool is_float = inst.type.width == 4, is_one = inst.type.lanes == 1;
  const Vector y = in_vector(inst.args[1], inst.type, 1), made = sized(0, inst.type);
  if (const Vector x = in_vector(inst.args[0], inst.type, 0); x.getIdx() != 0) vmovaps(made, x);
  with_vector_operand(inst.args[2], inst.type, [&](const Operand& z) {
    if (is_one) {
      is_float ? vfmadd213ss(made, y, z) : vfmadd213sd(made, y, z);
    } else {
      is_float ? vfmadd213ps(made, y, z) : vfmadd213pd(made, y, z);
    }
  });
  finish(inst, made);
}

bool Assembler::emit_vector(const Inst& inst) {
  using G = CodeGenerator;
  const bool is_float = inst.type.width == 4, is_one = inst.type.lanes == 1;
  const auto binary = [&](const Forms& forms) {
    emit_binary(inst, forms);
    return true;
  };
  switch (inst.op) {
    case Op::kMove:
      finish(inst, in_vector(inst.args[0], inst.type, 0));
      return true;
    case Op::kFloatAdd:
      return binary({&G::vaddss, &G::vaddsd, &G::vaddps, &G::vaddpd});
    case Op::kFloatSub:
      return binary({&G::vsubss, &G::vsubsd, &G::vsubps, &G::vsubpd});
    case Op::kFloatMul:
      return binary({&G::vmulss, &G::vmulsd, &G::vmulps, &G::vmulpd});
    case Op::kFloatDiv:
      return binary({&G::vdivss, &G::vdivsd, &G::vdivps, &G::vdivpd});
    case Op::kFloatMax:
      return binary({&G::vmaxss, &G::vmaxsd, &G::vmaxps, &G::vmaxpd});
    case Op::kFloatMin:
      return binary({&G::vminss, &G::vminsd, &G::vminps, &G::vminpd});
    case Op::kFloatMulAdd:
      multiply_add(inst);
      return true;
    case Op::kFloatSqrt: {
      const Vector x = in_vector(inst.args[0], inst.type, 1), made = vector_target(inst);
      if (is_one) {
        is_float ? vsqrtss(made, x, x) : vsqrtsd(made, x, x);
      } else {
        is_float ? vsqrtps(made, x) : vsqrtpd(made, x);
      }
      finish(inst, made);
      return true;
    }
    case Op::kFloatRound: {
      const Vector x = in_vector(inst.args[0], inst.type, 1), made = vector_target(inst);
      const auto mode = static_cast<uint8_t>(inst.imm | 8);  // no exception if inexact
      if (is_one) {
        is_float ? vroundss(made, x, x, mode) : vroundsd(made, x, x, mode);
      } else {
        is_float ? vroundps(made, x, mode) : vroundpd(made, x, mode);
      }
      finish(inst, made);
      return true;
    }
    case Op::kFloatCompare: {
      const Vector x = in_vector(inst.args[0], inst.type, 1), made = vector_target(inst);
      const uint8_t number = predicate(inst.cond);
      with_vector_operand(inst.args[1], inst.type, [&](const Operand& y) {
        if (is_one) {
          is_float ? vcmpss(made, x, y, number) : vcmpsd(made, x, y, number);
        } else {
          is_float ? vcmpps(made, x, y, number) : vcmppd(made, x, y, number);
        }
      });
      finish(inst, made);
      return true;
    }
    default:
      return false;
  }
}

bool Assembler::emit_lanes(const Inst& inst) {
  using G = CodeGenerator;
  const bool is_four = inst.type.width == 4;
  // These operations have no form for one lane; computing all lanes costs nothing. A single lane in
  // memory is loaded alone.
  using Lanes = void (G::*)(const Xbyak::Xmm&, const Xbyak::Xmm&, const Operand&);
  const auto binary = [&](auto four, auto eight) {
    const Vector x = in_vector(inst.args[0], inst.type, 1);
    const Vector y = in_vector(inst.args[1], inst.type, 2), made = vector_target(inst);
    (this->*(is_four ? four : eight))(made, x, y);
    finish(inst, made);
    return true;
  };
  const auto lanes = [&](Lanes four, Lanes eight) { return binary(four, eight); };
  const auto shift = [&](auto four, auto eight) {
    const Vector x = in_vector(inst.args[0], inst.type, 1), made = vector_target(inst);
    if (is_four) {
      four(made, x, static_cast<uint8_t>(inst.imm));
    } else {
      eight(made, x, static_cast<uint8_t>(inst.imm));
    }
    finish(inst, made);
    return true;
  };
  switch (inst.op) {
    case Op::kBitAnd:
      return binary(&G::vandps, &G::vandps);
    case Op::kBitOr:
      return binary(&G::vorps, &G::vorps);
    case Op::kBitXor:
      return binary(&G::vxorps, &G::vxorps);
    case Op::kBitAndNot:
      return binary(&G::vandnps, &G::vandnps);
    case Op::kLaneAdd:
      return lanes(&G::vpaddd, &G::vpaddq);
    case Op::kLaneSub:
      return lanes(&G::vpsubd, &G::vpsubq);
    case Op::kLaneMul:
      return is_four && lanes(&G::vpmulld, nullptr);
    case Op::kLaneEqual:
      return lanes(&G::vpcmpeqd, &G::vpcmpeqq);
    case Op::kLaneGreater:
      return lanes(&G::vpcmpgtd, &G::vpcmpgtq);
    case Op::kLaneShiftLeft:
      return shift([this](const auto&... x) { vpslld(x...); },
                   [this](const auto&... x) { vpsllq(x...); });
    case Op::kLaneShiftRight:
      return shift([this](const auto&... x) { vpsrld(x...); },
                   [this](const auto&... x) { vpsrlq(x...); });
    case Op::kBlend: {
      const Vector mask = in_vector(inst.args[0], inst.type, 0);
      const Vector no = in_vector(inst.args[1], inst.type, 1);
      const Vector yes = in_vector(inst.args[2], inst.type, 2), made = vector_target(inst);
      is_four ? vblendvps(made, no, yes, mask) : vblendvpd(made, no, yes, mask);
      finish(inst, made);
      return true;
    }
    case Op::kBroadcast: {
      const Vector x = in_vector(inst.args[0], vector(inst.type.width, 1), 1);
      const Vector made = vector_target(inst);
      if (is_four) {
        vbroadcastss(made, Xbyak::Xmm(x.getIdx()));
      } else if (inst.type.bytes() > 16) {
        vbroadcastsd(Xbyak::Ymm(made.getIdx()), Xbyak::Xmm(x.getIdx()));
      } else {
        vmovddup(made, Xbyak::Xmm(x.getIdx()));
      }
      finish(inst, made);
      return true;
    }
    default:
      return false;
  }
}

bool Assembler::emit_conversion(const Inst& inst) {
  const int width = inst.type.width;
  switch (inst.op) {
    case Op::kMaskOfBool: {
      const Vector made = vector_target(inst);
      load(eax, inst.args[0]);
      neg(rax);
      vmovq(made, rax);
      finish(inst, made);
      return true;
    }
    case Op::kBoolOfMask:
      vmovd(eax, Xbyak::Xmm(in_vector(inst.args[0], inst.source, 0).getIdx()));
      and_(eax, 1);
      finish(inst, General(eax));
      return true;
    case Op::kAnyLane: {
      const Vector mask = in_vector(inst.args[0], inst.source, 0);
      // The lanes after the first one are undefined.
      if (inst.source.lanes == 1) {
        vmovd(eax, Xbyak::Xmm(mask.getIdx()));
      } else {
        inst.source.width == 4 ? vmovmskps(eax, mask) : vmovmskpd(eax, mask);
      }
      finish(inst, General(eax));
      return true;
    }
    case Op::kBitsToVector: {
      const Vector made = vector_target(inst);
      const General from = in_register(inst.args[0], width, rax);
      width == 4 ? vmovd(made, from) : vmovq(made, Xbyak::Reg64(from.getIdx()));
      finish(inst, made);
      return true;
    }
    case Op::kBitsToGeneral: {
      const Xbyak::Xmm from(in_vector(inst.args[0], vector(width, 1), 0).getIdx());
      const General made = target(inst, {});
      width == 4 ? vmovd(made, from) : vmovq(Xbyak::Reg64(made.getIdx()), from);
      finish(inst, made);
      return true;
    }
    case Op::kFloatOfInt: {
      const General from = in_register(inst.args[0], inst.source.width, rax);
      vxorps(xmm0, xmm0, xmm0);  // removes the dependency on the old register contents
      const Vector made = vector_target(inst);
      width == 4 ? vcvtsi2ss(made, xmm0, from) : vcvtsi2sd(made, xmm0, from);
      finish(inst, made);
      return true;
    }
    case Op::kFloatOfUnsigned:
      float_of_unsigned(inst);
      return true;
    case Op::kFloatOfFloat: {
      const Vector x = in_vector(inst.args[0], inst.source, 1), made = vector_target(inst);
      width == 4 ? vcvtsd2ss(made, x, x) : vcvtss2sd(made, x, x);
      finish(inst, made);
      return true;
    }
    case Op::kIntOfFloat:
    case Op::kUnsignedOfFloat:
      int_of_float(inst, inst.op == Op::kIntOfFloat);
      return true;
    default:
      return false;
  }
}

void Assembler::float_of_unsigned(const Inst& inst) {
  const bool is_float = inst.type.width == 4;
  const auto convert = [&] { is_float ? vcvtsi2ss(xmm0, xmm0, rax) : vcvtsi2sd(xmm0, xmm0, rax); };
  vxorps(xmm0, xmm0, xmm0);
  if (inst.source.width == 4) {
    load(eax, inst.args[0]);
    convert();
    return finish(inst, Vector(xmm0));
  }
  // For numbers of 2^63 and more, half the number is converted and doubled. Its last bit keeps the
  // lost bit, for correct rounding.
  Xbyak::Label large, done;
  load(rax, inst.args[0]);
  test(rax, rax);
  js(large, T_NEAR);
  convert();
  jmp(done, T_NEAR);
  L(large);
  mov(rcx, rax);
  and_(ecx, 1);
  shr(rax, 1);
  or_(rax, rcx);
  convert();
  is_float ? vaddss(xmm0, xmm0, xmm0) : vaddsd(xmm0, xmm0, xmm0);
  L(done);
  finish(inst, Vector(xmm0));
}

void Assembler::int_of_float(const Inst& inst, bool has_sign) {
  const bool is_float = inst.source.width == 4;
  const int bits = inst.type.width * 8;
  const double upper = std::ldexp(1.0, has_sign ? bits - 1 : bits), lower = has_sign ? -upper : 0;
  const uint64_t all = bits == 64 ? ~uint64_t{0} : UINT32_MAX, top = uint64_t{1} << (bits - 1);
  const Xbyak::Xmm x(in_vector(inst.args[0], inst.source, 0).getIdx());
  const auto against = [&](double bound) {
    const Xbyak::Address address = in_memory(bits_of(bound, inst.source.width), inst.source);
    is_float ? vucomiss(x, address) : vucomisd(x, address);
  };
  const auto truncate = [&](const General& to, const Xbyak::Xmm& from) {
    if (to.isBit(64)) {
      const Xbyak::Reg64 wide(to.getIdx());
      is_float ? vcvttss2si(wide, from) : vcvttsd2si(wide, from);
    } else {
      const Xbyak::Reg32 narrow(to.getIdx());
      is_float ? vcvttss2si(narrow, from) : vcvttsd2si(narrow, from);
    }
  };
  const General result = sized(rax, inst.type.width);
  Xbyak::Label zero, most, least, done;
  against(upper);
  jp(zero, T_NEAR);
  jae(most, T_NEAR);
  against(lower);
  jbe(least, T_NEAR);
  if (has_sign) {
    truncate(result, x);
  } else if (bits == 32) {
    truncate(rax, x);
  } else {
    // The instruction converts to signed integers only.
    Xbyak::Label large;
    against(std::ldexp(1.0, 63));
    jae(large, T_NEAR);
    truncate(rax, x);
    jmp(done, T_NEAR);
    L(large);
    const Xbyak::Address half =
        in_memory(bits_of(std::ldexp(1.0, 63), inst.source.width), inst.source);
    is_float ? vsubss(xmm1, x, half) : vsubsd(xmm1, x, half);
    truncate(rax, xmm1);
    btc(rax, 63);
  }
  jmp(done, T_NEAR);
  L(zero);
  xor_(eax, eax);
  jmp(done, T_NEAR);
  L(most);
  load(result, Arg::constant(has_sign ? top - 1 : all));
  jmp(done, T_NEAR);
  L(least);
  load(result, Arg::constant(has_sign ? top : 0));
  L(done);
  finish(inst, result);
}

}  // namespace farcall::native::jit
